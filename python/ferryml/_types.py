"""Types of what the public calls take and give."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Literal, Mapping, Protocol, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from ._data import Domain


class Shaped(Protocol):
    """Sparse matrices, data frames, tensors."""

    @property
    def shape(self) -> Any: ...


Table = Union[ArrayLike, Shaped]
Labels = Union[ArrayLike, Sequence[Any], Shaped]
Target = Union[Table, "Domain"]
Entry = Union["Domain", Tuple[Any, Any]]
Sources = Union["Domain", Sequence[Entry], Mapping[str, Entry]]
Labelled = Union[float, int, str, Dict[str, Any], ArrayLike, None]
Seed = Union[int, np.random.RandomState, None]
Path = Union[str, "os.PathLike[str]"]
Setting = Union[str, int, float, bool, Sequence[Any]]
Array = NDArray[Any]
Reals = NDArray[np.float64]
Goal = Literal["classify", "regress", "multilabel", "rate", "embed", "stream"]
Controls = Literal["quick", "full", "none"]
