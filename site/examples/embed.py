import ferryml
from ferryml import Domain

table = ferryml.read("embed/table.csv", id="id", label="label")
friends = ferryml.read("embed/friends.csv", format="edges").edges
people = Domain(views={"table": table.X}, graphs={"friends": friends}, ids=table.ids)
places = ferryml.CoCA(d=2).fit_transform(people)                                  # a row of coordinates for each person
print(ferryml.compare(people, table.y, goal="embed", labelled="none", repeats=3))  # the labels score, nothing else
