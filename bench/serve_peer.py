"""The same service as people write it: FastAPI, uvicorn and river's logistic regression. usage: serve_peer.py PORT"""
import json
import sys

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from river import linear_model, multiclass, preprocessing

D = 20
NAMES = [f"f{j}" for j in range(D)]
model = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
for i in range(300):  # a model that has seen something
    model.learn_one(dict(zip(NAMES, [((i * 7 + j * 3) % 11) / 11 + (j % 3 == i % 3) for j in range(D)])), f"c{i % 3 + 1}")
app = FastAPI()


class Row(BaseModel):
    x: list[float]


def answer(x):
    scores = model.predict_proba_one(dict(zip(NAMES, x)))
    best = max(scores, key=scores.get)
    return {"prediction": best, "score": scores[best]}


@app.post("/predict")
async def predict(row: Row):
    return answer(row.x)


@app.post("/lines")
async def lines(request: Request):
    body = await request.body()
    return PlainTextResponse("".join(json.dumps(answer(Row.model_validate_json(line).x)) + "\n" for line in body.splitlines()),
                             media_type="application/x-ndjson")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
