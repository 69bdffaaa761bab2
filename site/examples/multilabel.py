import ferryml
from ferryml import Source

labels = "l1,l2,l3,l4,l5"
source = ferryml.read("multilabel/source.csv", label=labels, id="id")
target = ferryml.read("multilabel/target.csv", label=labels, id="id")
result = ferryml.compare(target.X, target.y, sources=[Source(source.X, source.y, columns="shared")], goal="multilabel", labelled=20, repeats=5)
print(result)
