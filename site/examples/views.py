import ferryml
from ferryml import Domain

table = ferryml.read("views/table.csv", id="id", label="label")
graphs = {g: ferryml.read("views/%s.csv" % g, format="edges").edges for g in ("graph1", "graph2", "graph3")}
people = Domain(views={"table": table.X}, graphs=graphs, ids=table.ids)
result = ferryml.compare(people, table.y, methods=["gbc", "gbdt", "label-propagation"], labelled=0.1, repeats=5)
print(result)
