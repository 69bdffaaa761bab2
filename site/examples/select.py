import pandas as pd

import ferryml
from ferryml import Bridge, Source

frame = lambda name: pd.read_csv("select/%s.csv" % name, index_col="id")     # names of columns tell which features are the same
source = frame("source")
ways = ferryml.select(frame("target").drop(columns="label"), [Source(source.drop(columns="label"), source["label"])]
                      + [Bridge(frame(name), name=name) for name in ("blurred", "clear", "near", "far")])
print(ways)
