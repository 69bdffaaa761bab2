import ferryml
from ferryml import Source

source = ferryml.read("regress/source.csv", label="y", id="id")
target = ferryml.read("regress/target.csv", label="y", id="id")
result = ferryml.compare(target.X, target.y, sources=[Source(source.X, source.y, columns="shared")], labelled=15, repeats=5)
print(result)
