"""Cross-validation where some labels are not known."""
from __future__ import annotations

from typing import Any, Iterator, Tuple

import numpy as np
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold
from sklearn.utils.multiclass import type_of_target

from ._data import hidden, labels_of
from ._types import Array, Labels, Seed


class HiddenLabelSplit(BaseCrossValidator):
    """Folds of the rows whose label is known; rows without one are always trained on.

    What cross_val_score and GridSearchCV of scikit-learn need where y has NaN or None: their own splitters refuse it, and
    would test on rows that have no label.

    Parameters
    ----------
    n_splits : int, default 5
        Folds.
    shuffle : bool, default True
        Deal the rows at random; False: as they stand.
    random_state : int or None, default 0
        Seed of that.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.

    Examples
    --------
    >>> import numpy as np
    >>> from ferryml import HiddenLabelSplit
    >>> y = np.array([0, 0, 1, 1, np.nan, np.nan])
    >>> for train, test in HiddenLabelSplit(2, shuffle=False).split(np.zeros((6, 1)), y):
    ...     print(train, test)
    [1 3 4 5] [0 2]
    [0 2 4 5] [1 3]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Seed = 0, unlabelled: object = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabelled = unlabelled

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds there are."""
        return self.n_splits

    def split(self, X: Any, y: Labels | None = None, groups: Any = None) -> Iterator[Tuple[Array, Array]]:
        """Numbers of the rows to train on and of those to test on, fold after fold. Classes are dealt evenly."""
        if y is None:
            raise ValueError("HiddenLabelSplit needs y: it deals the rows whose label is known")
        labels = labels_of(y)
        unknown = hidden(labels, self.unlabelled)
        unknown = unknown.any(axis=1) if unknown.ndim == 2 else unknown
        rows, rest = np.flatnonzero(~unknown), np.flatnonzero(unknown)
        if len(rows) < self.n_splits:
            raise ValueError(f"HiddenLabelSplit: {len(rows)} rows have a label, fewer than the {self.n_splits} folds")
        known = labels[rows]
        if known.dtype == object and known.ndim == 1:
            known = np.array(known.tolist())
        named = known.ndim == 1 and type_of_target(known) in ("binary", "multiclass")
        deal = (StratifiedKFold if named else KFold)(self.n_splits, shuffle=self.shuffle,
                                                     random_state=self.random_state if self.shuffle else None)
        for train, test in deal.split(np.zeros((len(rows), 1)), known if named else None):
            yield np.sort(np.concatenate([rows[train], rest])), rows[test]
