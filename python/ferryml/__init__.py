"""Ferry for Python: heterogeneous transfer learning as estimators of the scikit-learn family.

>>> import ferryml
>>> model = ferryml.Ferry().fit(X, y, sources=[ferryml.Source(Xs, ys)])          # chooses: model.answer_
>>> model = ferryml.TTL().fit(X, y, sources=[ferryml.Source(Xs, ys), ferryml.Bridge(views={"a": Xa, "b": Xb})])
>>> ferryml.compare(X, y, sources=[...])          # does transfer help here?

The work is done by the C library; see docs/python.md.
"""
from typing import Any

from ._compare import Advice, Comparison, advise, answer, compare, load_results, select
from ._data import Bridge, Domain, Source
from . import _methods
from ._ferry import AutoTransfer, Ferry, FerryNumbers
from ._foreign import Task
from ._io import datasets, doctor, fetch, load, read
from ._lib import (FerryCancelled, FerryError, FerryFileNotFoundError, FerryIOError, FerryMemoryError, FerryNeedsError, FerryNumericError,
                   FerryValueError, FerryWarning, __version__)
from ._methods import *  # noqa: F401,F403
from ._links import Link
from ._model import Model
from ._onnx import to_onnx
from ._pipeline import Step, TransferPipeline, make_transfer_pipeline, per_domain, shared, target_only
from ._split import HiddenLabelSplit

__all__ = [
    "AutoTransfer", "Ferry", "FerryNumbers", "Advice", "Comparison", "Task", "advise", "answer",
    "compare", "load_results", "select", "datasets", "doctor", "fetch", "load", "read", "to_onnx", "Bridge",
    "Domain", "Source", "Link", "Model", "Step", "TransferPipeline", "make_transfer_pipeline",
    "per_domain", "shared", "target_only", "HiddenLabelSplit", "FerryCancelled", "FerryError",
    "FerryFileNotFoundError", "FerryIOError", "FerryMemoryError", "FerryNeedsError",
    "FerryNumericError", "FerryValueError", "FerryWarning", "__version__",
]
__all__ += _methods.__all__
_estimators = _methods.__all__


def __getattr__(name: str) -> Any:  # fetch_NAME, for each data set of the catalog
    if name.startswith("fetch_"):
        from ._io import fetcher
        found = fetcher(name)
        if found is not None:
            return found
    raise AttributeError(f"module 'ferryml' has no attribute {name!r}")
