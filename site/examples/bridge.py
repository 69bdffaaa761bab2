import ferryml
from ferryml import Bridge, Domain, Source

read = lambda name, **how: ferryml.read("bridge/%s.csv" % name, id="id", **how)
source, target = read("source", label="label"), read("target", label="label")
a, b = read("bridge_a"), read("bridge_b")

sources = [Source(views={"a": source.X}, y=source.y, name="source"),
           Bridge(views={"a": (a.ids, a.X), "b": (b.ids, b.X)}, ids=a.ids, name="bridge")]
result = ferryml.compare(Domain(views={"b": target.X}), target.y, sources=sources, labelled={"per_class": 3}, repeats=5,
                         methods=["ttl", "hop", "latentmap", "cotransfer", "clusters", "semi-svm", "svm", "logreg"])
print(result)
