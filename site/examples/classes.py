import ferryml
from ferryml import Source

source = ferryml.read("classes/source.csv", id="id", label="label")
target = ferryml.read("classes/target.csv", id="id", label="label")
result = ferryml.compare(target.X, target.y, sources=[Source(source.X, source.y, columns="own")], repeats=5, labelled={"per_class": 3, "classes": 7},
                         methods=["place", "semi-svm", "svm", "cdspp"])
print(result)
