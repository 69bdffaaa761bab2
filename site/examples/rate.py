import numpy as np

import ferryml
from ferryml import Source

films, books = (ferryml.read("rate/%s.csv" % name, format="ratings").ratings for name in ("source", "target"))
users, items, stars = books
result = ferryml.compare(np.column_stack([users, items]), stars, sources=[Source(ratings=films, name="films")], goal="rate",
                         methods=["mindtl", "cbt", "stack", "mf", "bias", "rating-mean"], labelled=0.533, repeats=5)
print(result)
