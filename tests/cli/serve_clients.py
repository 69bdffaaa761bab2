"""Other people's clients against a running server: usage: PYTHON serve_clients.py triton|kserve|mlflow PORT. Prints what they got as JSON."""
import json
import sys

ROW = [0.5, 1, 0, 2, -1, 0.25, 3, 0]


def triton(port):
    import numpy as np
    import tritonclient.http as client
    c = client.InferenceServerClient(f"127.0.0.1:{port}")
    assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("logreg") and c.is_model_ready("logreg", "1")
    assert not c.is_model_ready("none")
    assert c.get_server_metadata()["name"] == "ferry"
    assert c.get_model_metadata("logreg")["inputs"][0]["shape"] == [-1, 8]
    assert c.get_model_config("logreg")["input"][0]["data_type"] == "TYPE_FP64"
    assert c.get_model_repository_index()[0]["name"] == "logreg"
    got = []
    for kind in (np.float64, np.float32):
        for binary in (True, False):
            x = client.InferInput("x", [2, 8], "FP64" if kind is np.float64 else "FP32")
            x.set_data_from_numpy(np.array([ROW, ROW[::-1]], kind), binary_data=binary)
            for pack in (None, "gzip"):
                r = c.infer("logreg", [x], outputs=[client.InferRequestedOutput(n, binary_data=binary) for n in ("label", "score")],
                            request_id="q1", request_compression_algorithm=pack, response_compression_algorithm=pack)
                assert r.get_response()["id"] == "q1"
                labels = [v.decode() if isinstance(v, bytes) else v for v in r.as_numpy("label")]
                got.append([labels, np.round(r.as_numpy("score"), 6).tolist()])
    try:
        c.infer("logreg", [client.InferInput("y", [1], "FP64")])
        raise AssertionError("a wrong input was taken")
    except client.InferenceServerException as e:
        assert "y" in str(e), e
    assert all(g == got[0] for g in got), got
    return got[0]


def kserve(port):
    import asyncio

    from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig

    async def ask():
        c = InferenceRESTClient(RESTConfig(protocol="v2", verbose=False))
        base = f"http://127.0.0.1:{port}"
        assert await c.is_server_live(base) and await c.is_server_ready(base) and await c.is_model_ready(base, "logreg")
        x = InferInput("x", [2, 8], "FP64", data=ROW + ROW[::-1])
        r = await c.infer(base, InferRequest(model_name="logreg", infer_inputs=[x]), model_name="logreg")
        by = {o.name: o for o in r.outputs}
        return [list(by["label"].data), [round(v, 6) for v in by["score"].data]]

    return asyncio.run(ask())


def mlflow(port):
    import pandas as pd
    from mlflow.pyfunc.scoring_server.client import ScoringServerClient
    c = ScoringServerClient("127.0.0.1", int(port))
    c.wait_server_ready(timeout=30)
    r = c.invoke(pd.DataFrame([ROW, ROW[::-1]], columns=[f"b{j}" for j in range(1, 9)]))
    return r.get_predictions()[0].tolist() if hasattr(r.get_predictions(), "columns") else list(r.get_predictions())


if __name__ == "__main__":
    print(json.dumps({"triton": triton, "kserve": kserve, "mlflow": mlflow}[sys.argv[1]](sys.argv[2])))
