import ferryml
from ferryml import Source

past = ferryml.read("stream/source.csv", id="id", label="label")
now = ferryml.read("stream/target.csv", id="id", label="label")
result = ferryml.compare(now.X, now.y, sources=[Source(past.X, past.y)], goal="stream", labelled={"per_class": 2}, repeats=5)
print(result)

model = ferryml.HetOMTL().fit(now.X[:10], now.y[:10], sources=[Source(past.X, past.y)])
for x, label in zip(now.X[10:20], now.y[10:20]):       # at work: answer first, learn when the label is known
    print(model.predict_one(x), label)
    model.learn_one(x, label)
