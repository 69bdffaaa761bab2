"""The methods as estimators. Written by generate.py from the library's method table: do not edit."""
from __future__ import annotations

from typing import Literal

from ._base import FerryClassifier, FerryRater, FerryRegressor, FerryTransformer, _Proba, _Stream, _Weighted
from ._types import Seed, Sources

__all__ = [
    "AdditiveGrid", "AlignedTrees", "Bias", "CBT", "CCA", "CDLS", "CDSPP", "CDSPPTransformer", "Chains",
    "Clusters", "CoCA", "CoCAPaper", "COOT", "CorrectSmooth", "CoTransfer", "ExtraTrees", "FGW", "GBC",
    "GBCRegressor", "GBCPaper", "GBCPaperRegressor", "GBDT", "GBDTRegressor", "GBDTAverage",
    "GBDTAverageRegressor", "Gibbs", "HeMap", "HeMapRegressor", "HeMapTransformer", "HeMapPaper",
    "HeMapPaperRegressor", "HeMapPaperTransformer", "HetOMTL", "HetOMTLPaper", "Hop", "HTLIC", "ICA", "KCCA",
    "KernelBridge", "KMeansHop", "KNN", "KNNRegressor", "LabelPrior", "LabelPropagation",
    "LabelPropagationRegressor", "LatentMap", "LIFT", "LogReg", "Majority", "Mean", "MF", "MfAls", "MINDTL",
    "MINDTLPaper", "MMDT", "MMLTL", "MMLTLPaper", "MPA", "OMTLMC", "PCAJoined", "Place", "RandomCodebook",
    "RandomCodebookPaper", "RankSVM", "RatingMean", "Residual", "ResidualRegressor", "Ridge", "RidgeRegressor",
    "SemiGBDT", "SemiSVM", "SGC", "ShuffledCodebook", "ShuffledCodebookPaper", "SMLTL", "Stack", "SVM",
    "SVMRegressor", "TALMUD", "Triplex", "TTL", "TTLPaper",
]


class AdditiveGrid(FerryRater):
    """A codebook that has seen no source: user level plus item level.

    Needs ratings of every domain.

    Parameters
    ----------
    k : int, default 10
        Groups of users; 0: a tenth of a source's users. Values: 0 .. 1000.
    l : int, default 10
        Groups of items; 0: a tenth of a source's items. Values: 0 .. 1000.
    starts : int, default 1
        Starts over the target, all but the first random; the best is kept. Values: 1 .. 1e+06.
    iters : int, default 20
        Sweeps over the target. Values: 1 .. 1e+06.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> model = ferryml.AdditiveGrid().fit(pairs[rows], stars[rows])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'additive-grid'
    _goals = ('rate',)
    _options = (
        ('k', 'k', 10),
        ('l', 'l', 10),
        ('starts', 'starts', 1),
        ('iters', 'iters', 20),
    )

    def __init__(self, *,
                 k: int = 10, l: int = 10, starts: int = 1, iters: int = 20, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.l = l
        self.starts = starts
        self.iters = iters
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class AlignedTrees(FerryClassifier):
    """Label sets under shift: columns aligned where that makes the domains alike.

    Needs source labels, a view of the target.

    Parameters
    ----------
    align : str, default 'auto'
        The target's columns: by the source's mean and deviation, by its own mean, or by its own mean and
        deviation; auto: as the domains ask for. Values: auto | raw | centre | standard.
    trees : int, default 300
        Trees. Values: 1 .. 100000.
    C : float, default 0.0
        Cost of errors of the logistic regressions; 0: 0.01, 0.05 or 0.3 by halves of the source. Values: 0 ..
        1e+09.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> old = ferryml.Source(X[::2], sets[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.AlignedTrees().fit(X[1::4], sets[1::4], sources=[old])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'aligned-trees'
    _goals = ('multilabel',)
    _multilabel = True
    _fallback = {'multilabel': 'ranksvm'}
    _options = (
        ('align', 'align', 'auto'),
        ('trees', 'trees', 300),
        ('C', 'C', 0.0),
    )

    def __init__(self, *,
                 align: Literal['auto', 'raw', 'centre', 'standard'] = 'auto', trees: int = 300, C: float = 0.0,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.align = align
        self.trees = trees
        self.C = C
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Bias(FerryRater):
    """Ratings as the mean plus a shrunken bias of the user and one of the item.

    Needs ratings of every domain.

    Parameters
    ----------
    lambda_ : float, default 5.0
        Ratings of size 0 that shrink a bias. Values: 0 .. 1e+09.
    sweeps : int, default 10
        Alternating steps. Values: 1 .. 1e+06.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> model = ferryml.Bias().fit(pairs[rows], stars[rows])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'bias'
    _goals = ('rate',)
    _options = (
        ('lambda_', 'lambda', 5.0),
        ('sweeps', 'sweeps', 10),
    )

    def __init__(self, *,
                 lambda_: float = 5.0, sweeps: int = 10, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.lambda_ = lambda_
        self.sweeps = sweeps
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CBT(FerryRater):
    """Codebook transfer: the rating pattern of the first source, hard groups.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    k : int, default 10
        Groups of users; 0: a tenth of a source's users. Values: 0 .. 1000.
    l : int, default 10
        Groups of items; 0: a tenth of a source's items. Values: 0 .. 1000.
    extract : str, default 'ionmtf'
        How the groups of a source are found. Values: ionmtf | onmtf | dc-onmtf | kmeans.
    update : str, default 'paper'
        Updates of ionmtf: as published, or towards orthogonal columns. Values: paper | orth.
    sweeps : int, default 60
        Sweeps of ionmtf and onmtf. Values: 0 .. 1e+06.
    polish : int, default 20
        Most sweeps of two-way k-means after it. Values: 0 .. 1e+06.
    restarts : int, default 3
        Starts of an extraction; the best is kept. Values: 1 .. 1e+06.
    beta : float, default 5.0
        Ratings that draw a block's mean to its row and column. Values: 0 .. 1e+09.
    most : int, default 400
        Users and items of a source, those with most ratings; 0: all. Values: 0 .. 1e+09.
    order : str, default 'task'
        Sources as the task has them, or by the error of each alone on ratings held out. Values: task | nearest.
    starts : int, default 1
        Starts over the target, all but the first random; the best is kept. Values: 1 .. 1e+06.
    iters : int, default 20
        Sweeps over the target. Values: 1 .. 1e+06.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Li, Yang and Xue, Can Movies and Books Collaborate?, IJCAI 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.CBT().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'cbt'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('k', 'k', 10),
        ('l', 'l', 10),
        ('extract', 'extract', 'ionmtf'),
        ('update', 'update', 'paper'),
        ('sweeps', 'sweeps', 60),
        ('polish', 'polish', 20),
        ('restarts', 'restarts', 3),
        ('beta', 'beta', 5.0),
        ('most', 'most', 400),
        ('order', 'order', 'task'),
        ('starts', 'starts', 1),
        ('iters', 'iters', 20),
    )

    def __init__(self, *,
                 k: int = 10, l: int = 10, extract: Literal['ionmtf', 'onmtf', 'dc-onmtf', 'kmeans'] = 'ionmtf',
                 update: Literal['paper', 'orth'] = 'paper', sweeps: int = 60, polish: int = 20,
                 restarts: int = 3, beta: float = 5.0, most: int = 400,
                 order: Literal['task', 'nearest'] = 'task', starts: int = 1, iters: int = 20,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.l = l
        self.extract = extract
        self.update = update
        self.sweeps = sweeps
        self.polish = polish
        self.restarts = restarts
        self.beta = beta
        self.most = most
        self.order = order
        self.starts = starts
        self.iters = iters
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CCA(_Proba, FerryClassifier):
    """A common space from pairs by canonical correlations, and a learner in it.

    Needs source labels, a view of the target.

    Parameters
    ----------
    k : int, default 30
        Dimensions of the space, at most. Values: 1 .. 1e+06.
    ridge : float, default 0.1
        Added to the covariances, times their mean eigenvalue. Values: 1e-12 .. 1e+06.
    learner : str, default 'logreg'
        Learner in the space. Values: knn | logreg | ridge | svm.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    C : float, default 3.0
        Logreg, svm: cost of errors. Values: 1e-09 .. 1e+09.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    rows : str, default 'both'
        Labelled rows that it learns from. Values: both | source.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Hotelling, Relations between Two Sets of Variates, Biometrika 1936.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> old = ferryml.Source(views={"petal": X[::3, 2:]}, y=y[::3], name="old")
    >>> both = ferryml.Bridge(views={"petal": X[1::3, 2:], "sepal": X[1::3, :2]}, name="both")
    >>> new = ferryml.Domain(views={"sepal": X[2::3, :2]})
    >>> few = np.where(np.arange(50) % 5 == 0, y[2::3], np.nan)  # of the others the label is not known
    >>> model = ferryml.CCA().fit(new, few, sources=[old, both])
    >>> model.score(new, y[2::3]) > 0.5
    True
    """

    _method = 'cca'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('k', 'k', 30),
        ('ridge', 'ridge', 0.1),
        ('learner', 'learner', 'logreg'),
        ('neighbours', 'neighbours', 10),
        ('C', 'C', 3.0),
        ('lambda_', 'lambda', 1.0),
        ('rows', 'rows', 'both'),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 k: int = 30, ridge: float = 0.1, learner: Literal['knn', 'logreg', 'ridge', 'svm'] = 'logreg',
                 neighbours: int = 10, C: float = 3.0, lambda_: float = 1.0,
                 rows: Literal['both', 'source'] = 'both',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.ridge = ridge
        self.learner = learner
        self.neighbours = neighbours
        self.C = C
        self.lambda_ = lambda_
        self.rows = rows
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CDLS(FerryClassifier):
    """The source's rows mapped into the target's axes, and weighed there.

    Needs source labels, some target labels that may be seen, one view of every domain.

    Parameters
    ----------
    dims : int, default 100
        Principal axes of the target, at most. Values: 1 .. 1e+06.
    iterations : int, default 10
        Of map, weights and classes; 0: the first map alone. Values: 0 .. 1e+06.
    delta : float, default 0.5
        Mean weight of a row. Values: 0.001 .. 1.
    lambda_ : float, default 0.5
        Weight of |A|^2. Values: 1e-09 .. 1e+09.
    C : float, default 1.0
        Cost of errors of the support vector machine. Values: 1e-09 .. 1e+09.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Tsai, Yeh, Wang, Learning Cross-Domain Landmarks for Heterogeneous Domain Adaptation, CVPR 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.CDLS().fit(X[1::4, :2], y[1::4], sources=[old])
    >>> model.score(X[3::4, :2], y[3::4]) > 0.5
    True
    """

    _method = 'cdls'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('dims', 'dims', 100),
        ('iterations', 'iterations', 10),
        ('delta', 'delta', 0.5),
        ('lambda_', 'lambda', 0.5),
        ('C', 'C', 1.0),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 dims: int = 100, iterations: int = 10, delta: float = 0.5, lambda_: float = 0.5, C: float = 1.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.dims = dims
        self.iterations = iterations
        self.delta = delta
        self.lambda_ = lambda_
        self.C = C
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CDSPP(FerryClassifier):
    """One space for a source and a target, by their classes.

    Needs source labels, some target labels that may be seen, one view of every domain.

    Parameters
    ----------
    alpha : float, default 1.0
        Weight of |P|^2 against samples of a class lying together. Values: 1e-12 .. 1e+12.
    dims : int, default 0
        Dimensions; 0: all there are, at most one per class. Values: 0 .. 1e+06.
    learner : str, default 'ridge'
        Classify: learner on the projected rows of both domains. Values: knn | logreg | ridge.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    C : float, default 1000.0
        Logreg: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    lambda_ : float, default 0.01
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    scale : str, default 'l2'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Wang and Breckon, Cross-Domain Structure Preserving Projection for Heterogeneous Domain Adaptation, Pattern
    Recognition 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.CDSPP().fit(X[1::4, :2], y[1::4], sources=[old])
    >>> model.score(X[3::4, :2], y[3::4]) > 0.5
    True
    """

    _method = 'cdspp'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('alpha', 'alpha', 1.0),
        ('dims', 'dims', 0),
        ('learner', 'learner', 'ridge'),
        ('neighbours', 'neighbours', 10),
        ('C', 'C', 1000.0),
        ('lambda_', 'lambda', 0.01),
        ('scale', 'scale', 'l2'),
    )

    def __init__(self, *,
                 alpha: float = 1.0, dims: int = 0, learner: Literal['knn', 'logreg', 'ridge'] = 'ridge',
                 neighbours: int = 10, C: float = 1000.0, lambda_: float = 0.01,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'l2',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.alpha = alpha
        self.dims = dims
        self.learner = learner
        self.neighbours = neighbours
        self.C = C
        self.lambda_ = lambda_
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CDSPPTransformer(FerryTransformer):
    """One space for a source and a target, by their classes.

    Needs source labels, some target labels that may be seen, one view of every domain.

    Parameters
    ----------
    alpha : float, default 1.0
        Weight of |P|^2 against samples of a class lying together. Values: 1e-12 .. 1e+12.
    dims : int, default 0
        Dimensions; 0: all there are, at most one per class. Values: 0 .. 1e+06.
    learner : str, default 'ridge'
        Classify: learner on the projected rows of both domains. Values: knn | logreg | ridge.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    C : float, default 1000.0
        Logreg: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    lambda_ : float, default 0.01
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    scale : str, default 'l2'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Wang and Breckon, Cross-Domain Structure Preserving Projection for Heterogeneous Domain Adaptation, Pattern
    Recognition 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> ferryml.CDSPPTransformer().fit(X[:, :2], y, sources=[old]).transform(X[:5, :2]).shape[0]
    5
    """

    _method = 'cdspp'
    _goals = ('embed',)
    _fallback = {'embed': 'pca-joined'}
    _options = (
        ('alpha', 'alpha', 1.0),
        ('dims', 'dims', 0),
        ('learner', 'learner', 'ridge'),
        ('neighbours', 'neighbours', 10),
        ('C', 'C', 1000.0),
        ('lambda_', 'lambda', 0.01),
        ('scale', 'scale', 'l2'),
    )

    def __init__(self, *,
                 alpha: float = 1.0, dims: int = 0, learner: Literal['knn', 'logreg', 'ridge'] = 'ridge',
                 neighbours: int = 10, C: float = 1000.0, lambda_: float = 0.01,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'l2',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.alpha = alpha
        self.dims = dims
        self.learner = learner
        self.neighbours = neighbours
        self.C = C
        self.lambda_ = lambda_
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Chains(_Weighted, FerryClassifier):
    """Logistic regressions, each of which sees the labels before it in a chain.

    Needs a view of the target.

    Parameters
    ----------
    chains : int, default 0
        Chains; 0: 10, or fewer where they would be more than 200 regressions. Values: 0 .. 1000.
    C : float, default 1.0
        Cost of errors against small weights. Values: above 0 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: above 0 .. 1.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Read, Pfahringer, Holmes and Frank, Classifier Chains for Multi-label Classification, Machine Learning 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> model = ferryml.Chains().fit(X[1::4], sets[1::4])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'chains'
    _goals = ('multilabel',)
    _multilabel = True
    _options = (
        ('chains', 'chains', 0),
        ('C', 'C', 1.0),
        ('eps', 'eps', 0.01),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 chains: int = 0, C: float = 1.0, eps: float = 0.01,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.chains = chains
        self.C = C
        self.eps = eps
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Clusters(FerryClassifier):
    """Clusters of the target, named by its few visible labels.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    restarts : int, default 10
        K-means++ starts; the tightest groups win. Values: 1 .. 10000.
    iterations : int, default 100
        Of each start, at most. Values: 1 .. 100000.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.Clusters().fit(X, few)
    >>> model.score(X, y) > 0.6
    True
    """

    _method = 'clusters'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('restarts', 'restarts', 10),
        ('iterations', 'iterations', 100),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 restarts: int = 10, iterations: int = 100,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.restarts = restarts
        self.iterations = iterations
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CoCA(FerryTransformer):
    """Collective component analysis: one space for many views and graphs.

    Needs a view or a graph of the target.

    Parameters
    ----------
    d : int, default -1
        Dimensions of the embedding; -1: those of positive eigenvalues, 10 to 20 of them, in joined PCA as many as
        hold 90 % of the variance (graphs alone: 10). Values: -1 .. 1e+06.
    alpha : float, default -1.0
        Weight of agreement between views; below 0: 1/p of p views, which is joined PCA, 1 with learned weights.
        Values: -1 .. 1e+09.
    balance : str, default 'auto'
        Then views to one size: mean squared length of rows, or largest singular value; auto: frob, none with
        scale: none. Values: auto | none | frob | spectral.
    weights : str, default 'auto'
        Of the views; qp: learned from links; agree: 0 for views that share nothing with another; auto: agree, or
        qp where nearest links say so. Values: auto | equal | qp | agree.
    graph_weights : str, default 'auto'
        Lift: by how much more often edges join one class; auto: lift where labels are seen. Values: auto | equal |
        lift.
    graph_term : float, default -1.0
        Factor of the graphs' term; below 0: 1 where weights are learned or graph_weights is given, else 0, which
        is joined PCA. Values: -1 .. 1e+09.
    pairs : str, default ''
        File of links: id, id, 1 (same class) or -1; else from labels. Values: file.
    links : int, default 400
        Instances to take links from. Values: 2 .. 5000.
    smooth : int, default 0
        Steps of smoothing over the graphs: phi + W phi + .. + W^s phi. Values: 0 .. 100.
    missing : str, default 'auto'
        Instances that lack views: as if at the mean, or by regression from the others; auto: regress when half or
        more are lacking. Values: auto | mean | regress.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, ch. 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> ferryml.CoCA(d=2).fit(X[:, :2], y).transform(X[:5, :2]).shape[0]
    5
    """

    _method = 'coca'
    _goals = ('embed',)
    _options = (
        ('d', 'd', -1),
        ('alpha', 'alpha', -1.0),
        ('balance', 'balance', 'auto'),
        ('weights', 'weights', 'auto'),
        ('graph_weights', 'graph_weights', 'auto'),
        ('graph_term', 'graph_term', -1.0),
        ('pairs', 'pairs', ''),
        ('links', 'links', 400),
        ('smooth', 'smooth', 0),
        ('missing', 'missing', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 d: int = -1, alpha: float = -1.0, balance: Literal['auto', 'none', 'frob', 'spectral'] = 'auto',
                 weights: Literal['auto', 'equal', 'qp', 'agree'] = 'auto',
                 graph_weights: Literal['auto', 'equal', 'lift'] = 'auto', graph_term: float = -1.0,
                 pairs: str = '', links: int = 400, smooth: int = 0,
                 missing: Literal['auto', 'mean', 'regress'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.d = d
        self.alpha = alpha
        self.balance = balance
        self.weights = weights
        self.graph_weights = graph_weights
        self.graph_term = graph_term
        self.pairs = pairs
        self.links = links
        self.smooth = smooth
        self.missing = missing
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CoCAPaper(FerryTransformer):
    """Collective component analysis as published.

    Needs a view or a graph of the target.

    Parameters
    ----------
    d : int, default 10
        Dimensions of the embedding. Values: 1 .. 1e+06.
    form : str, default '4.8'
        Which of the text's matrices, by equation. Values: 4.8 | 4.4 | 4.3.
    alpha : float, default 60.0
        Weight of agreement between views. Values: 0 .. 1e+09.
    alpha_by : str, default 'set'
        Alpha of 0, 1, 10, 30, 60, 75 and 100 by cross-validation on visible labels, or by the relative error of
        k-means on the embedding. Values: set | cv | kmeans.
    d_by : str, default 'set'
        Cv: d of 2, 3, 5, 8, 10, 15, 20, 30 and 50 by cross-validation. Values: set | cv.
    balance : str, default 'auto'
        Then views to one size: mean squared length of rows, or largest singular value; auto: frob, none with
        scale: none. Values: auto | none | frob | spectral.
    weights : str, default 'auto'
        Of the views; qp: learned from links; auto: qp where there are links. Values: auto | equal | qp.
    graph_weights : str, default 'auto'
        Lift: by how much more often edges join one class; qp: as published, absent edges are cannot-links; auto:
        lift where labels are seen. Values: auto | equal | lift | qp.
    graph_term : float, default 1.0
        Factor of the graphs' term. Values: 0 .. 1e+09.
    pairs : str, default ''
        File of links: id, id, 1 (same class) or -1; else from labels. Values: file.
    links : int, default 400
        Instances to take links from. Values: 2 .. 5000.
    missing : str, default 'auto'
        Instances that lack views: as if at the mean, or by regression from the others; auto: regress when half or
        more are lacking. Values: auto | mean | regress.
    scale : str, default 'none'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, ch. 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> ferryml.CoCAPaper(d=2).fit(X[:, :2], y).transform(X[:5, :2]).shape[0]
    5
    """

    _method = 'coca-paper'
    _goals = ('embed',)
    _options = (
        ('d', 'd', 10),
        ('form', 'form', '4.8'),
        ('alpha', 'alpha', 60.0),
        ('alpha_by', 'alpha_by', 'set'),
        ('d_by', 'd_by', 'set'),
        ('balance', 'balance', 'auto'),
        ('weights', 'weights', 'auto'),
        ('graph_weights', 'graph_weights', 'auto'),
        ('graph_term', 'graph_term', 1.0),
        ('pairs', 'pairs', ''),
        ('links', 'links', 400),
        ('missing', 'missing', 'auto'),
        ('scale', 'scale', 'none'),
    )

    def __init__(self, *,
                 d: int = 10, form: Literal['4.8', '4.4', '4.3'] = '4.8', alpha: float = 60.0,
                 alpha_by: Literal['set', 'cv', 'kmeans'] = 'set', d_by: Literal['set', 'cv'] = 'set',
                 balance: Literal['auto', 'none', 'frob', 'spectral'] = 'auto',
                 weights: Literal['auto', 'equal', 'qp'] = 'auto',
                 graph_weights: Literal['auto', 'equal', 'lift', 'qp'] = 'auto', graph_term: float = 1.0,
                 pairs: str = '', links: int = 400, missing: Literal['auto', 'mean', 'regress'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'none',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.d = d
        self.form = form
        self.alpha = alpha
        self.alpha_by = alpha_by
        self.d_by = d_by
        self.balance = balance
        self.weights = weights
        self.graph_weights = graph_weights
        self.graph_term = graph_term
        self.pairs = pairs
        self.links = links
        self.missing = missing
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class COOT(_Proba, FerryClassifier):
    """Optimal transport of a source's rows and features at once.

    Needs source labels, one view of every domain.

    Parameters
    ----------
    labels : float, default 1.0
        Cost of a target row whose visible class is another, times the mean cost. Values: 0 .. 1e+09.
    iterations : int, default 100
        Of both plans, at most. Values: 1 .. 1e+06.
    tol : float, default 1e-09
        Stop where the objective falls by less, times itself. Values: 0 .. 1.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Redko, Vayer, Flamary, Courty, CO-Optimal Transport, NeurIPS 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.COOT().fit(X[1::4, :2], y[1::4], sources=[old])
    >>> model.score(X[3::4, :2], y[3::4]) > 0.5
    True
    """

    _method = 'coot'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('labels', 'labels', 1.0),
        ('iterations', 'iterations', 100),
        ('tol', 'tol', 1e-09),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 labels: float = 1.0, iterations: int = 100, tol: float = 1e-09,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.labels = labels
        self.iterations = iterations
        self.tol = tol
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CorrectSmooth(FerryClassifier):
    """Logistic regression, whose errors and answers spread over the target's graphs.

    Needs some target labels that may be seen, a view of the target, a graph of the target.

    Parameters
    ----------
    C : float, default 0.0
        Cost of errors against small weights; 0: 10, or the best of 1, 10 and 100 by cross-validation on the
        target's labels, where every class has five of them. Values: 0 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    correct : float, default 0.8
        Share of the neighbours in the errors that are subtracted. Values: 0 .. 1.
    smooth : float, default 0.8
        Share of the neighbours in the answers. Values: 0 .. 1.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Huang et al., Combining Label Propagation and Simple Models Out-performs Graph Neural Networks, ICLR 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> from sklearn.neighbors import kneighbors_graph
    >>> flowers = ferryml.Domain(X, graphs={"near": kneighbors_graph(X, 5)})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.CorrectSmooth().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'correct-smooth'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('C', 'C', 0.0),
        ('eps', 'eps', 0.01),
        ('correct', 'correct', 0.8),
        ('smooth', 'smooth', 0.8),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 0.0, eps: float = 0.01, correct: float = 0.8, smooth: float = 0.8,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.correct = correct
        self.smooth = smooth
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class CoTransfer(FerryClassifier):
    """Random walks with restart over the graph of all instances of the bridge.

    Needs source labels, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    mu : float, default 0.9
        Chance of a step; else restart. Values: 0 .. 1.
    neighbours : int, default 30
        Where a step can go. Values: 1 .. 10000.
    mass : bool, default True
        Class mass normalisation to the sources' shares of classes. Values: yes | no.
    beta : float, default 0.0
        Share of the restarts that begin at labelled instances of the target. Values: 0 .. 1.
    centre : str, default 'auto'
        Take off the mean before cosines; auto: of features that are no words. Values: auto | yes | no.
    iterations : int, default 200
        Steps of the walk. Values: 1 .. 1e+06.
    tol : float, default 0.0001
        Stop at changes below this. Values: 0 .. 1.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Ng, Wu, Ye, Co-Transfer Learning Using Coupled Markov Chains with Restart, IEEE Intelligent Systems 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.CoTransfer().fit(X[1::4], y[1::4], sources=[old])
    >>> model.score(X[3::4], y[3::4]) > 0.6
    True
    """

    _method = 'cotransfer'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('mu', 'mu', 0.9),
        ('neighbours', 'neighbours', 30),
        ('mass', 'mass', True),
        ('beta', 'beta', 0.0),
        ('centre', 'centre', 'auto'),
        ('iterations', 'iterations', 200),
        ('tol', 'tol', 0.0001),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 mu: float = 0.9, neighbours: int = 30, mass: bool = True, beta: float = 0.0,
                 centre: Literal['auto', 'yes', 'no'] = 'auto', iterations: int = 200, tol: float = 0.0001,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.mu = mu
        self.neighbours = neighbours
        self.mass = mass
        self.beta = beta
        self.centre = centre
        self.iterations = iterations
        self.tol = tol
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ExtraTrees(_Weighted, _Proba, FerryClassifier):
    """Extremely randomised trees for all labels at once.

    Needs a view of the target.

    Parameters
    ----------
    trees : int, default 300
        Trees. Values: 1 .. 100000.
    features : int, default 0
        Features that a split chooses from; 0: the root of their number. Values: 0 .. 1e+09.
    min_leaf : int, default 2
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Geurts, Ernst and Wehenkel, Extremely Randomized Trees, Machine Learning 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> model = ferryml.ExtraTrees().fit(X[1::4], sets[1::4])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'extra-trees'
    _goals = ('multilabel',)
    _multilabel = True
    _options = (
        ('trees', 'trees', 300),
        ('features', 'features', 0),
        ('min_leaf', 'min_leaf', 2),
        ('train', 'train', 'auto'),
    )

    def __init__(self, *,
                 trees: int = 300, features: int = 0, min_leaf: int = 2,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto', sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.trees = trees
        self.features = features
        self.min_leaf = min_leaf
        self.train = train
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class FGW(_Proba, FerryClassifier):
    """Transport that keeps distances among rows, and visible classes.

    Needs source labels, one view of every domain.

    Parameters
    ----------
    alpha : float, default 0.5
        Weight of distances against visible classes. Values: 0 .. 1.
    iterations : int, default 200
        Steps, at most. Values: 1 .. 1e+06.
    tol : float, default 1e-09
        Stop where the objective falls by less, times itself. Values: 0 .. 1.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Vayer, Chapel, Flamary, Tavenard, Courty, Optimal Transport for Structured Data with Application on Graphs, ICML
    2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.FGW().fit(X[1::4, :2], y[1::4], sources=[old])
    >>> model.score(X[3::4, :2], y[3::4]) > 0.5
    True
    """

    _method = 'fgw'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('alpha', 'alpha', 0.5),
        ('iterations', 'iterations', 200),
        ('tol', 'tol', 1e-09),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 alpha: float = 0.5, iterations: int = 200, tol: float = 1e-09,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.alpha = alpha
        self.iterations = iterations
        self.tol = tol
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBC(_Proba, FerryClassifier):
    """Gradient boosting consensus over views that lack instances, and graphs.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    learner : str, default 'auto'
        Boosted trees, or linear scores over all views; auto: a mixture of these, labels that propagate over
        graphs, and nearest rows. Values: auto | tree | linear.
    combine : str, default 'auto'
        Trees of the views are averaged, or add up to one score; auto: by cross-validation. Values: auto | average
        | additive.
    correct : str, default 'auto'
        What graphs do to answers; auto: by cross-validation. Values: auto | no | residual | smooth.
    strength : float, default -1.0
        Of that: kappa of residual, share of the neighbours of smooth (up to 1); -1: 2, or by cross-validation.
        Values: -1 .. 1e+09.
    folds : int, default 3
        Of cross-validation; 0: none, so nothing is chosen by it: trees alone. Values: 0 .. 100.
    patience : int, default 10
        Stop after this many iterations without a better held-out loss. Values: 1 .. 1e+06.
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, chapter 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> flowers = ferryml.Domain(views={"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.GBC().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'gbc'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('learner', 'learner', 'auto'),
        ('combine', 'combine', 'auto'),
        ('correct', 'correct', 'auto'),
        ('strength', 'strength', -1.0),
        ('folds', 'folds', 3),
        ('patience', 'patience', 10),
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 learner: Literal['auto', 'tree', 'linear'] = 'auto',
                 combine: Literal['auto', 'average', 'additive'] = 'auto',
                 correct: Literal['auto', 'no', 'residual', 'smooth'] = 'auto', strength: float = -1.0,
                 folds: int = 3, patience: int = 10, trees: int = 100, depth: int = 3, rate: float = 0.1,
                 min_leaf: int = 3, reg: float = -1.0, bins: int = 0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.learner = learner
        self.combine = combine
        self.correct = correct
        self.strength = strength
        self.folds = folds
        self.patience = patience
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBCRegressor(FerryRegressor):
    """Gradient boosting consensus over views that lack instances, and graphs.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    learner : str, default 'auto'
        Boosted trees, or linear scores over all views; auto: a mixture of these, labels that propagate over
        graphs, and nearest rows. Values: auto | tree | linear.
    combine : str, default 'auto'
        Trees of the views are averaged, or add up to one score; auto: by cross-validation. Values: auto | average
        | additive.
    correct : str, default 'auto'
        What graphs do to answers; auto: by cross-validation. Values: auto | no | residual | smooth.
    strength : float, default -1.0
        Of that: kappa of residual, share of the neighbours of smooth (up to 1); -1: 2, or by cross-validation.
        Values: -1 .. 1e+09.
    folds : int, default 3
        Of cross-validation; 0: none, so nothing is chosen by it: trees alone. Values: 0 .. 100.
    patience : int, default 10
        Stop after this many iterations without a better held-out loss. Values: 1 .. 1e+06.
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, chapter 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> flowers = ferryml.Domain(views={"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> model = ferryml.GBCRegressor().fit(flowers, np.where(np.arange(150) % 3 > 0, X[:, 3], np.nan))
    >>> model.score(flowers, X[:, 3]) > 0.5
    True
    """

    _method = 'gbc'
    _goals = ('regress',)
    _options = (
        ('learner', 'learner', 'auto'),
        ('combine', 'combine', 'auto'),
        ('correct', 'correct', 'auto'),
        ('strength', 'strength', -1.0),
        ('folds', 'folds', 3),
        ('patience', 'patience', 10),
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 learner: Literal['auto', 'tree', 'linear'] = 'auto',
                 combine: Literal['auto', 'average', 'additive'] = 'auto',
                 correct: Literal['auto', 'no', 'residual', 'smooth'] = 'auto', strength: float = -1.0,
                 folds: int = 3, patience: int = 10, trees: int = 100, depth: int = 3, rate: float = 0.1,
                 min_leaf: int = 3, reg: float = -1.0, bins: int = 0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.learner = learner
        self.combine = combine
        self.correct = correct
        self.strength = strength
        self.folds = folds
        self.patience = patience
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBCPaper(_Proba, FerryClassifier):
    """Gradient boosting consensus over views that lack instances, as published.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    lambda0 : float, default 0.3
        Consensus of the views, times labelled / unlabelled, at most 1 in all. Values: 0 .. 1e+09.
    lambda1 : float, default 0.3
        Agreement of neighbours, likewise. Values: 0 .. 1e+09.
    weights : str, default 'root'
        Of the views, by training loss. Values: root | softmax | equal.
    as_printed : str, default 'no'
        Yes: views one after the other, and lambdas as they are given. Values: no | yes.
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, chapter 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> flowers = ferryml.Domain(views={"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.GBCPaper().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'gbc-paper'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('lambda0', 'lambda0', 0.3),
        ('lambda1', 'lambda1', 0.3),
        ('weights', 'weights', 'root'),
        ('as_printed', 'as_printed', 'no'),
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
    )

    def __init__(self, *,
                 lambda0: float = 0.3, lambda1: float = 0.3,
                 weights: Literal['root', 'softmax', 'equal'] = 'root', as_printed: Literal['no', 'yes'] = 'no',
                 trees: int = 100, depth: int = 3, rate: float = 0.1, min_leaf: int = 3, reg: float = -1.0,
                 bins: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.lambda0 = lambda0
        self.lambda1 = lambda1
        self.weights = weights
        self.as_printed = as_printed
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBCPaperRegressor(FerryRegressor):
    """Gradient boosting consensus over views that lack instances, as published.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    lambda0 : float, default 0.3
        Consensus of the views, times labelled / unlabelled, at most 1 in all. Values: 0 .. 1e+09.
    lambda1 : float, default 0.3
        Agreement of neighbours, likewise. Values: 0 .. 1e+09.
    weights : str, default 'root'
        Of the views, by training loss. Values: root | softmax | equal.
    as_printed : str, default 'no'
        Yes: views one after the other, and lambdas as they are given. Values: no | yes.
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi, Heterogeneous Learning and Its Applications, PhD thesis 2013, chapter 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> flowers = ferryml.Domain(views={"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> model = ferryml.GBCPaperRegressor().fit(flowers, np.where(np.arange(150) % 3 > 0, X[:, 3], np.nan))
    >>> model.score(flowers, X[:, 3]) > 0.5
    True
    """

    _method = 'gbc-paper'
    _goals = ('regress',)
    _options = (
        ('lambda0', 'lambda0', 0.3),
        ('lambda1', 'lambda1', 0.3),
        ('weights', 'weights', 'root'),
        ('as_printed', 'as_printed', 'no'),
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
    )

    def __init__(self, *,
                 lambda0: float = 0.3, lambda1: float = 0.3,
                 weights: Literal['root', 'softmax', 'equal'] = 'root', as_printed: Literal['no', 'yes'] = 'no',
                 trees: int = 100, depth: int = 3, rate: float = 0.1, min_leaf: int = 3, reg: float = -1.0,
                 bins: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.lambda0 = lambda0
        self.lambda1 = lambda1
        self.weights = weights
        self.as_printed = as_printed
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBDT(_Weighted, _Proba, FerryClassifier):
    """Gradient boosted decision trees on all features side by side.

    Needs a view of the target.

    Parameters
    ----------
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ferryml.GBDT().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.8
    True
    """

    _method = 'gbdt'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
        ('train', 'train', 'auto'),
    )

    def __init__(self, *,
                 trees: int = 100, depth: int = 3, rate: float = 0.1, min_leaf: int = 3, reg: float = -1.0,
                 bins: int = 0, train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.train = train
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBDTRegressor(_Weighted, FerryRegressor):
    """Gradient boosted decision trees on all features side by side.

    Needs a view of the target.

    Parameters
    ----------
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> X, width = X[:, :3], X[:, 3]
    >>> model = ferryml.GBDTRegressor().fit(X[1::4], width[1::4])
    >>> model.score(X[3::4], width[3::4]) > 0.5
    True
    """

    _method = 'gbdt'
    _goals = ('regress',)
    _options = (
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
        ('train', 'train', 'auto'),
    )

    def __init__(self, *,
                 trees: int = 100, depth: int = 3, rate: float = 0.1, min_leaf: int = 3, reg: float = -1.0,
                 bins: int = 0, train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.train = train
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBDTAverage(_Proba, FerryClassifier):
    """Gradient boosted decision trees on each view, averaged.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> flowers = ferryml.Domain(views={"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.GBDTAverage().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'gbdt-average'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
    )

    def __init__(self, *,
                 trees: int = 100, depth: int = 3, rate: float = 0.1, min_leaf: int = 3, reg: float = -1.0,
                 bins: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class GBDTAverageRegressor(FerryRegressor):
    """Gradient boosted decision trees on each view, averaged.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of Statistics 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> flowers = ferryml.Domain(views={"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> model = ferryml.GBDTAverageRegressor().fit(flowers, np.where(np.arange(150) % 3 > 0, X[:, 3], np.nan))
    >>> model.score(flowers, X[:, 3]) > 0.5
    True
    """

    _method = 'gbdt-average'
    _goals = ('regress',)
    _options = (
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
    )

    def __init__(self, *,
                 trees: int = 100, depth: int = 3, rate: float = 0.1, min_leaf: int = 3, reg: float = -1.0,
                 bins: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Gibbs(_Proba, FerryClassifier):
    """Collective classification by Gibbs sampling: features and neighbours.

    Needs some target labels that may be seen, a view of the target, a graph of the target.

    Parameters
    ----------
    C : float, default 1.0
        Cost of errors against small weights. Values: 1e-09 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    burn_in : int, default 20
        Sweeps that do not count. Values: 0 .. 1e+06.
    samples : int, default 100
        Sweeps whose mean is the answer. Values: 1 .. 1e+06.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Sen et al., Collective Classification in Network Data, AI Magazine 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> from sklearn.neighbors import kneighbors_graph
    >>> flowers = ferryml.Domain(X, graphs={"near": kneighbors_graph(X, 5)})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.Gibbs().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'gibbs'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('C', 'C', 1.0),
        ('eps', 'eps', 0.01),
        ('burn_in', 'burn_in', 20),
        ('samples', 'samples', 100),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 1.0, eps: float = 0.01, burn_in: int = 20, samples: int = 100,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.burn_in = burn_in
        self.samples = samples
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HeMap(_Proba, FerryClassifier):
    """One space for a source and a target without common features, and a gate.

    Needs a source, one view of every domain.

    Parameters
    ----------
    k : int, default 15
        Dimensions of the space, at most. Values: 1 .. 1e+06.
    solver : str, default 'cca'
        Regularised CCA, or the published matrix with known ties. Values: cca | eig.
    ridge : float, default 0.1
        Cca: added to the covariances, times their mean eigenvalue. Values: 1e-12 .. 1e+06.
    beta : float, default 1.0
        Eig: how alike the two sets should be. Values: 0 .. 1e+06.
    bins : int, default 5
        Regress: quantiles that are tied. Values: 2 .. 1e+06.
    learner : str, default 'auto'
        Learner on the space; auto: knn for classes, ridge for numbers. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    base : str, default 'auto'
        Learner on the target's own features; auto: logreg or ridge. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    C : float, default 3.0
        Logreg, svm: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    rows : str, default 'both'
        Labelled rows that the learner on the space learns from. Values: both | source | target.
    self_training : int, default 0
        Classify: times that the learner on the space labels a tenth of the target's instances, those that it is
        surest of. Values: 0 .. 1000.
    weight : float, default 1.0
        Of a source row; a target row has 1. Values: 1e-12 .. 1.
    gamma : float, default -1.0
        Share of the mapped prediction; -1: by cross-validation. Values: -1 .. 1.
    folds : int, default 5
        Of that cross-validation. Values: 2 .. 1e+06.
    caution : float, default 2.0
        Standard errors by which transfer must win there. Values: 0 .. 100.
    translate : str, default 'auto'
        Source labels, by what a target learner calls their rows; auto: numbers, and classes where the target has
        one that the source lacks. Values: auto | yes | no.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.HeMap().fit(X[1::4, :2], y[1::4], sources=[old])
    >>> model.score(X[3::4, :2], y[3::4]) > 0.5
    True
    """

    _method = 'hemap'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('k', 'k', 15),
        ('solver', 'solver', 'cca'),
        ('ridge', 'ridge', 0.1),
        ('beta', 'beta', 1.0),
        ('bins', 'bins', 5),
        ('learner', 'learner', 'auto'),
        ('base', 'base', 'auto'),
        ('neighbours', 'neighbours', 10),
        ('lambda_', 'lambda', 1.0),
        ('C', 'C', 3.0),
        ('rows', 'rows', 'both'),
        ('self_training', 'self_training', 0),
        ('weight', 'weight', 1.0),
        ('gamma', 'gamma', -1.0),
        ('folds', 'folds', 5),
        ('caution', 'caution', 2.0),
        ('translate', 'translate', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 k: int = 15, solver: Literal['cca', 'eig'] = 'cca', ridge: float = 0.1, beta: float = 1.0,
                 bins: int = 5, learner: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto',
                 base: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto', neighbours: int = 10,
                 lambda_: float = 1.0, C: float = 3.0, rows: Literal['both', 'source', 'target'] = 'both',
                 self_training: int = 0, weight: float = 1.0, gamma: float = -1.0, folds: int = 5,
                 caution: float = 2.0, translate: Literal['auto', 'yes', 'no'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.solver = solver
        self.ridge = ridge
        self.beta = beta
        self.bins = bins
        self.learner = learner
        self.base = base
        self.neighbours = neighbours
        self.lambda_ = lambda_
        self.C = C
        self.rows = rows
        self.self_training = self_training
        self.weight = weight
        self.gamma = gamma
        self.folds = folds
        self.caution = caution
        self.translate = translate
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HeMapRegressor(FerryRegressor):
    """One space for a source and a target without common features, and a gate.

    Needs a source, one view of every domain.

    Parameters
    ----------
    k : int, default 15
        Dimensions of the space, at most. Values: 1 .. 1e+06.
    solver : str, default 'cca'
        Regularised CCA, or the published matrix with known ties. Values: cca | eig.
    ridge : float, default 0.1
        Cca: added to the covariances, times their mean eigenvalue. Values: 1e-12 .. 1e+06.
    beta : float, default 1.0
        Eig: how alike the two sets should be. Values: 0 .. 1e+06.
    bins : int, default 5
        Regress: quantiles that are tied. Values: 2 .. 1e+06.
    learner : str, default 'auto'
        Learner on the space; auto: knn for classes, ridge for numbers. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    base : str, default 'auto'
        Learner on the target's own features; auto: logreg or ridge. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    C : float, default 3.0
        Logreg, svm: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    rows : str, default 'both'
        Labelled rows that the learner on the space learns from. Values: both | source | target.
    self_training : int, default 0
        Classify: times that the learner on the space labels a tenth of the target's instances, those that it is
        surest of. Values: 0 .. 1000.
    weight : float, default 1.0
        Of a source row; a target row has 1. Values: 1e-12 .. 1.
    gamma : float, default -1.0
        Share of the mapped prediction; -1: by cross-validation. Values: -1 .. 1.
    folds : int, default 5
        Of that cross-validation. Values: 2 .. 1e+06.
    caution : float, default 2.0
        Standard errors by which transfer must win there. Values: 0 .. 100.
    translate : str, default 'auto'
        Source labels, by what a target learner calls their rows; auto: numbers, and classes where the target has
        one that the source lacks. Values: auto | yes | no.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> X, width = X[:, :3], X[:, 3]
    >>> old = ferryml.Source(X[::2, :2], width[::2], name="old")
    >>> model = ferryml.HeMapRegressor().fit(X[1::4], width[1::4], sources=[old])
    >>> model.score(X[3::4], width[3::4]) > 0.5
    True
    """

    _method = 'hemap'
    _goals = ('regress',)
    _fallback = {'regress': 'ridge'}
    _options = (
        ('k', 'k', 15),
        ('solver', 'solver', 'cca'),
        ('ridge', 'ridge', 0.1),
        ('beta', 'beta', 1.0),
        ('bins', 'bins', 5),
        ('learner', 'learner', 'auto'),
        ('base', 'base', 'auto'),
        ('neighbours', 'neighbours', 10),
        ('lambda_', 'lambda', 1.0),
        ('C', 'C', 3.0),
        ('rows', 'rows', 'both'),
        ('self_training', 'self_training', 0),
        ('weight', 'weight', 1.0),
        ('gamma', 'gamma', -1.0),
        ('folds', 'folds', 5),
        ('caution', 'caution', 2.0),
        ('translate', 'translate', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 k: int = 15, solver: Literal['cca', 'eig'] = 'cca', ridge: float = 0.1, beta: float = 1.0,
                 bins: int = 5, learner: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto',
                 base: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto', neighbours: int = 10,
                 lambda_: float = 1.0, C: float = 3.0, rows: Literal['both', 'source', 'target'] = 'both',
                 self_training: int = 0, weight: float = 1.0, gamma: float = -1.0, folds: int = 5,
                 caution: float = 2.0, translate: Literal['auto', 'yes', 'no'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.solver = solver
        self.ridge = ridge
        self.beta = beta
        self.bins = bins
        self.learner = learner
        self.base = base
        self.neighbours = neighbours
        self.lambda_ = lambda_
        self.C = C
        self.rows = rows
        self.self_training = self_training
        self.weight = weight
        self.gamma = gamma
        self.folds = folds
        self.caution = caution
        self.translate = translate
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HeMapTransformer(FerryTransformer):
    """One space for a source and a target without common features, and a gate.

    Needs a source, one view of every domain.

    Parameters
    ----------
    k : int, default 15
        Dimensions of the space, at most. Values: 1 .. 1e+06.
    solver : str, default 'cca'
        Regularised CCA, or the published matrix with known ties. Values: cca | eig.
    ridge : float, default 0.1
        Cca: added to the covariances, times their mean eigenvalue. Values: 1e-12 .. 1e+06.
    beta : float, default 1.0
        Eig: how alike the two sets should be. Values: 0 .. 1e+06.
    bins : int, default 5
        Regress: quantiles that are tied. Values: 2 .. 1e+06.
    learner : str, default 'auto'
        Learner on the space; auto: knn for classes, ridge for numbers. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    base : str, default 'auto'
        Learner on the target's own features; auto: logreg or ridge. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    C : float, default 3.0
        Logreg, svm: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    rows : str, default 'both'
        Labelled rows that the learner on the space learns from. Values: both | source | target.
    self_training : int, default 0
        Classify: times that the learner on the space labels a tenth of the target's instances, those that it is
        surest of. Values: 0 .. 1000.
    weight : float, default 1.0
        Of a source row; a target row has 1. Values: 1e-12 .. 1.
    gamma : float, default -1.0
        Share of the mapped prediction; -1: by cross-validation. Values: -1 .. 1.
    folds : int, default 5
        Of that cross-validation. Values: 2 .. 1e+06.
    caution : float, default 2.0
        Standard errors by which transfer must win there. Values: 0 .. 100.
    translate : str, default 'auto'
        Source labels, by what a target learner calls their rows; auto: numbers, and classes where the target has
        one that the source lacks. Values: auto | yes | no.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> ferryml.HeMapTransformer().fit(X[:, :2], y, sources=[old]).transform(X[:5, :2]).shape[0]
    5
    """

    _method = 'hemap'
    _goals = ('embed',)
    _fallback = {'embed': 'pca-joined'}
    _options = (
        ('k', 'k', 15),
        ('solver', 'solver', 'cca'),
        ('ridge', 'ridge', 0.1),
        ('beta', 'beta', 1.0),
        ('bins', 'bins', 5),
        ('learner', 'learner', 'auto'),
        ('base', 'base', 'auto'),
        ('neighbours', 'neighbours', 10),
        ('lambda_', 'lambda', 1.0),
        ('C', 'C', 3.0),
        ('rows', 'rows', 'both'),
        ('self_training', 'self_training', 0),
        ('weight', 'weight', 1.0),
        ('gamma', 'gamma', -1.0),
        ('folds', 'folds', 5),
        ('caution', 'caution', 2.0),
        ('translate', 'translate', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 k: int = 15, solver: Literal['cca', 'eig'] = 'cca', ridge: float = 0.1, beta: float = 1.0,
                 bins: int = 5, learner: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto',
                 base: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto', neighbours: int = 10,
                 lambda_: float = 1.0, C: float = 3.0, rows: Literal['both', 'source', 'target'] = 'both',
                 self_training: int = 0, weight: float = 1.0, gamma: float = -1.0, folds: int = 5,
                 caution: float = 2.0, translate: Literal['auto', 'yes', 'no'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.solver = solver
        self.ridge = ridge
        self.beta = beta
        self.bins = bins
        self.learner = learner
        self.base = base
        self.neighbours = neighbours
        self.lambda_ = lambda_
        self.C = C
        self.rows = rows
        self.self_training = self_training
        self.weight = weight
        self.gamma = gamma
        self.folds = folds
        self.caution = caution
        self.translate = translate
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HeMapPaper(_Proba, FerryClassifier):
    """Heterogeneous mapping as published.

    Needs a source, one view of every domain.

    Parameters
    ----------
    variant : str, default 'linear'
        Algorithm 3, or 4 with clusters. Values: linear | nonlinear.
    k : int, default 1
        Dimensions of the space. Values: 1 .. 1e+06.
    beta : float, default 1.0
        How alike the two sets should be; 2 makes B_T = B_S. Values: 0 .. 1e+06.
    theta : float, default 0.5
        Nonlinear: weight of features against clusters. Values: 0 .. 1.
    clusters : int, default 2
        Nonlinear: clusters of the target. Values: 1 .. 1e+06.
    bins : int, default 5
        Nonlinear, regress: clusters of the source, by quantiles. Values: 2 .. 1e+06.
    exact : bool, default False
        B_T'B_T = I and B_S'B_S = I, not only B'B = I. Values: yes | no.
    as_printed : bool, default False
        B_T and B_S as they are, not each standardised. Values: yes | no.
    learner : str, default 'auto'
        Learner on the space; auto: knn for classes, ridge for numbers. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    base : str, default 'auto'
        Learner on the target's own features; auto: logreg or ridge. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    C : float, default 3.0
        Logreg, svm: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    rows : str, default 'both'
        Labelled rows that the learner on the space learns from. Values: both | source | target.
    self_training : int, default 0
        Classify: times that the learner on the space labels a tenth of the target's instances, those that it is
        surest of. Values: 0 .. 1000.
    sampling : bool, default True
        Learn only from source rows that mix with the target's. Values: yes | no.
    divergence : str, default 'corrected'
        Sampling: which KL divergence measures the risk. Values: corrected | printed.
    risk : float, default 0.5
        Sampling: above this divergence the source is not used. Values: 0 .. 1e+06.
    kappa : float, default 0.5
        Sampling: centroids agree within this share of a cluster's radius. Values: 0 .. 1e+06.
    tau : float, default 2.0
        Sampling: shares of target and source in a cluster agree within this factor. Values: 1 .. 1e+06.
    min_size : int, default 5
        Sampling: least rows of a cluster. Values: 1 .. 1e+09.
    min_clusters : int, default 8
        Sampling: least number of clusters. Values: 1 .. 1e+09.
    translate : bool, default True
        Source labels, by what a target learner calls their rows. Values: yes | no.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.HeMapPaper().fit(X[1::4, :2], y[1::4], sources=[old])
    >>> model.score(X[3::4, :2], y[3::4]) > 0.5
    True
    """

    _method = 'hemap-paper'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('variant', 'variant', 'linear'),
        ('k', 'k', 1),
        ('beta', 'beta', 1.0),
        ('theta', 'theta', 0.5),
        ('clusters', 'clusters', 2),
        ('bins', 'bins', 5),
        ('exact', 'exact', False),
        ('as_printed', 'as_printed', False),
        ('learner', 'learner', 'auto'),
        ('base', 'base', 'auto'),
        ('neighbours', 'neighbours', 10),
        ('lambda_', 'lambda', 1.0),
        ('C', 'C', 3.0),
        ('rows', 'rows', 'both'),
        ('self_training', 'self_training', 0),
        ('sampling', 'sampling', True),
        ('divergence', 'divergence', 'corrected'),
        ('risk', 'risk', 0.5),
        ('kappa', 'kappa', 0.5),
        ('tau', 'tau', 2.0),
        ('min_size', 'min_size', 5),
        ('min_clusters', 'min_clusters', 8),
        ('translate', 'translate', True),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 variant: Literal['linear', 'nonlinear'] = 'linear', k: int = 1, beta: float = 1.0,
                 theta: float = 0.5, clusters: int = 2, bins: int = 5, exact: bool = False,
                 as_printed: bool = False,
                 learner: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto',
                 base: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto', neighbours: int = 10,
                 lambda_: float = 1.0, C: float = 3.0, rows: Literal['both', 'source', 'target'] = 'both',
                 self_training: int = 0, sampling: bool = True,
                 divergence: Literal['corrected', 'printed'] = 'corrected', risk: float = 0.5, kappa: float = 0.5,
                 tau: float = 2.0, min_size: int = 5, min_clusters: int = 8, translate: bool = True,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.variant = variant
        self.k = k
        self.beta = beta
        self.theta = theta
        self.clusters = clusters
        self.bins = bins
        self.exact = exact
        self.as_printed = as_printed
        self.learner = learner
        self.base = base
        self.neighbours = neighbours
        self.lambda_ = lambda_
        self.C = C
        self.rows = rows
        self.self_training = self_training
        self.sampling = sampling
        self.divergence = divergence
        self.risk = risk
        self.kappa = kappa
        self.tau = tau
        self.min_size = min_size
        self.min_clusters = min_clusters
        self.translate = translate
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HeMapPaperRegressor(FerryRegressor):
    """Heterogeneous mapping as published.

    Needs a source, one view of every domain.

    Parameters
    ----------
    variant : str, default 'linear'
        Algorithm 3, or 4 with clusters. Values: linear | nonlinear.
    k : int, default 1
        Dimensions of the space. Values: 1 .. 1e+06.
    beta : float, default 1.0
        How alike the two sets should be; 2 makes B_T = B_S. Values: 0 .. 1e+06.
    theta : float, default 0.5
        Nonlinear: weight of features against clusters. Values: 0 .. 1.
    clusters : int, default 2
        Nonlinear: clusters of the target. Values: 1 .. 1e+06.
    bins : int, default 5
        Nonlinear, regress: clusters of the source, by quantiles. Values: 2 .. 1e+06.
    exact : bool, default False
        B_T'B_T = I and B_S'B_S = I, not only B'B = I. Values: yes | no.
    as_printed : bool, default False
        B_T and B_S as they are, not each standardised. Values: yes | no.
    learner : str, default 'auto'
        Learner on the space; auto: knn for classes, ridge for numbers. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    base : str, default 'auto'
        Learner on the target's own features; auto: logreg or ridge. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    C : float, default 3.0
        Logreg, svm: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    rows : str, default 'both'
        Labelled rows that the learner on the space learns from. Values: both | source | target.
    self_training : int, default 0
        Classify: times that the learner on the space labels a tenth of the target's instances, those that it is
        surest of. Values: 0 .. 1000.
    sampling : bool, default True
        Learn only from source rows that mix with the target's. Values: yes | no.
    divergence : str, default 'corrected'
        Sampling: which KL divergence measures the risk. Values: corrected | printed.
    risk : float, default 0.5
        Sampling: above this divergence the source is not used. Values: 0 .. 1e+06.
    kappa : float, default 0.5
        Sampling: centroids agree within this share of a cluster's radius. Values: 0 .. 1e+06.
    tau : float, default 2.0
        Sampling: shares of target and source in a cluster agree within this factor. Values: 1 .. 1e+06.
    min_size : int, default 5
        Sampling: least rows of a cluster. Values: 1 .. 1e+09.
    min_clusters : int, default 8
        Sampling: least number of clusters. Values: 1 .. 1e+09.
    translate : bool, default True
        Source labels, by what a target learner calls their rows. Values: yes | no.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> X, width = X[:, :3], X[:, 3]
    >>> old = ferryml.Source(X[::2, :2], width[::2], name="old")
    >>> model = ferryml.HeMapPaperRegressor().fit(X[1::4], width[1::4], sources=[old])
    >>> model.score(X[3::4], width[3::4]) > 0.5
    True
    """

    _method = 'hemap-paper'
    _goals = ('regress',)
    _fallback = {'regress': 'ridge'}
    _options = (
        ('variant', 'variant', 'linear'),
        ('k', 'k', 1),
        ('beta', 'beta', 1.0),
        ('theta', 'theta', 0.5),
        ('clusters', 'clusters', 2),
        ('bins', 'bins', 5),
        ('exact', 'exact', False),
        ('as_printed', 'as_printed', False),
        ('learner', 'learner', 'auto'),
        ('base', 'base', 'auto'),
        ('neighbours', 'neighbours', 10),
        ('lambda_', 'lambda', 1.0),
        ('C', 'C', 3.0),
        ('rows', 'rows', 'both'),
        ('self_training', 'self_training', 0),
        ('sampling', 'sampling', True),
        ('divergence', 'divergence', 'corrected'),
        ('risk', 'risk', 0.5),
        ('kappa', 'kappa', 0.5),
        ('tau', 'tau', 2.0),
        ('min_size', 'min_size', 5),
        ('min_clusters', 'min_clusters', 8),
        ('translate', 'translate', True),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 variant: Literal['linear', 'nonlinear'] = 'linear', k: int = 1, beta: float = 1.0,
                 theta: float = 0.5, clusters: int = 2, bins: int = 5, exact: bool = False,
                 as_printed: bool = False,
                 learner: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto',
                 base: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto', neighbours: int = 10,
                 lambda_: float = 1.0, C: float = 3.0, rows: Literal['both', 'source', 'target'] = 'both',
                 self_training: int = 0, sampling: bool = True,
                 divergence: Literal['corrected', 'printed'] = 'corrected', risk: float = 0.5, kappa: float = 0.5,
                 tau: float = 2.0, min_size: int = 5, min_clusters: int = 8, translate: bool = True,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.variant = variant
        self.k = k
        self.beta = beta
        self.theta = theta
        self.clusters = clusters
        self.bins = bins
        self.exact = exact
        self.as_printed = as_printed
        self.learner = learner
        self.base = base
        self.neighbours = neighbours
        self.lambda_ = lambda_
        self.C = C
        self.rows = rows
        self.self_training = self_training
        self.sampling = sampling
        self.divergence = divergence
        self.risk = risk
        self.kappa = kappa
        self.tau = tau
        self.min_size = min_size
        self.min_clusters = min_clusters
        self.translate = translate
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HeMapPaperTransformer(FerryTransformer):
    """Heterogeneous mapping as published.

    Needs a source, one view of every domain.

    Parameters
    ----------
    variant : str, default 'linear'
        Algorithm 3, or 4 with clusters. Values: linear | nonlinear.
    k : int, default 1
        Dimensions of the space. Values: 1 .. 1e+06.
    beta : float, default 1.0
        How alike the two sets should be; 2 makes B_T = B_S. Values: 0 .. 1e+06.
    theta : float, default 0.5
        Nonlinear: weight of features against clusters. Values: 0 .. 1.
    clusters : int, default 2
        Nonlinear: clusters of the target. Values: 1 .. 1e+06.
    bins : int, default 5
        Nonlinear, regress: clusters of the source, by quantiles. Values: 2 .. 1e+06.
    exact : bool, default False
        B_T'B_T = I and B_S'B_S = I, not only B'B = I. Values: yes | no.
    as_printed : bool, default False
        B_T and B_S as they are, not each standardised. Values: yes | no.
    learner : str, default 'auto'
        Learner on the space; auto: knn for classes, ridge for numbers. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    base : str, default 'auto'
        Learner on the target's own features; auto: logreg or ridge. Values: auto | knn | logreg | ridge | svm |
        gbdt.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    C : float, default 3.0
        Logreg, svm: cost of errors against small weights. Values: 1e-09 .. 1e+09.
    rows : str, default 'both'
        Labelled rows that the learner on the space learns from. Values: both | source | target.
    self_training : int, default 0
        Classify: times that the learner on the space labels a tenth of the target's instances, those that it is
        surest of. Values: 0 .. 1000.
    sampling : bool, default True
        Learn only from source rows that mix with the target's. Values: yes | no.
    divergence : str, default 'corrected'
        Sampling: which KL divergence measures the risk. Values: corrected | printed.
    risk : float, default 0.5
        Sampling: above this divergence the source is not used. Values: 0 .. 1e+06.
    kappa : float, default 0.5
        Sampling: centroids agree within this share of a cluster's radius. Values: 0 .. 1e+06.
    tau : float, default 2.0
        Sampling: shares of target and source in a cluster agree within this factor. Values: 1 .. 1e+06.
    min_size : int, default 5
        Sampling: least rows of a cluster. Values: 1 .. 1e+09.
    min_clusters : int, default 8
        Sampling: least number of clusters. Values: 1 .. 1e+09.
    translate : bool, default True
        Source labels, by what a target learner calls their rows. Values: yes | no.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> ferryml.HeMapPaperTransformer().fit(X[:, :2], y, sources=[old]).transform(X[:5, :2]).shape[0]
    5
    """

    _method = 'hemap-paper'
    _goals = ('embed',)
    _fallback = {'embed': 'pca-joined'}
    _options = (
        ('variant', 'variant', 'linear'),
        ('k', 'k', 1),
        ('beta', 'beta', 1.0),
        ('theta', 'theta', 0.5),
        ('clusters', 'clusters', 2),
        ('bins', 'bins', 5),
        ('exact', 'exact', False),
        ('as_printed', 'as_printed', False),
        ('learner', 'learner', 'auto'),
        ('base', 'base', 'auto'),
        ('neighbours', 'neighbours', 10),
        ('lambda_', 'lambda', 1.0),
        ('C', 'C', 3.0),
        ('rows', 'rows', 'both'),
        ('self_training', 'self_training', 0),
        ('sampling', 'sampling', True),
        ('divergence', 'divergence', 'corrected'),
        ('risk', 'risk', 0.5),
        ('kappa', 'kappa', 0.5),
        ('tau', 'tau', 2.0),
        ('min_size', 'min_size', 5),
        ('min_clusters', 'min_clusters', 8),
        ('translate', 'translate', True),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 variant: Literal['linear', 'nonlinear'] = 'linear', k: int = 1, beta: float = 1.0,
                 theta: float = 0.5, clusters: int = 2, bins: int = 5, exact: bool = False,
                 as_printed: bool = False,
                 learner: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto',
                 base: Literal['auto', 'knn', 'logreg', 'ridge', 'svm', 'gbdt'] = 'auto', neighbours: int = 10,
                 lambda_: float = 1.0, C: float = 3.0, rows: Literal['both', 'source', 'target'] = 'both',
                 self_training: int = 0, sampling: bool = True,
                 divergence: Literal['corrected', 'printed'] = 'corrected', risk: float = 0.5, kappa: float = 0.5,
                 tau: float = 2.0, min_size: int = 5, min_clusters: int = 8, translate: bool = True,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.variant = variant
        self.k = k
        self.beta = beta
        self.theta = theta
        self.clusters = clusters
        self.bins = bins
        self.exact = exact
        self.as_printed = as_printed
        self.learner = learner
        self.base = base
        self.neighbours = neighbours
        self.lambda_ = lambda_
        self.C = C
        self.rows = rows
        self.self_training = self_training
        self.sampling = sampling
        self.divergence = divergence
        self.risk = risk
        self.kappa = kappa
        self.tau = tau
        self.min_size = min_size
        self.min_clusters = min_clusters
        self.translate = translate
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HetOMTL(_Stream, FerryClassifier):
    """Online learning of a target's stream: eight experts, a detector of drift.

    Needs a view of the target.

    Parameters
    ----------
    basis : int, default 0
        Labels up to which ridges are exact, and the size of their basis afterwards; 0: 600, fewer above 2048 dense
        features. Values: 0 .. 5000.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    HetOMTL-CDSPP: Heterogeneous Online Multi-Source Transfer Learning with Cross-Domain Structure Preserving
    Projection, 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.HetOMTL().fit(X[1::4], y[1::4], sources=[old])
    >>> model = model.partial_fit(X[3::4], y[3::4])
    >>> model.score(X, y) > 0.6
    True
    >>> model.learn_one(X[0], y[0]).predict_one(X[0]) in model.classes_
    True
    """

    _method = 'hetomtl'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('basis', 'basis', 0),
    )

    def __init__(self, *,
                 basis: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.basis = basis
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HetOMTLPaper(_Stream, FerryClassifier):
    """Online transfer from several sources: a hedge over projections.

    Needs source labels, some target labels that may be seen, a view of the target.

    Parameters
    ----------
    alpha : float, default 1.0
        CDSPP: weight of |P|^2. Values: 1e-12 .. 1e+12.
    post : str, default 'none'
        What comes after the projection: unit length, after centring. Values: none | l2 | centred.
    variant : str, default 'pa1'
        How large a step may be; printed: the paper's formula. Values: pa | pa1 | pa2 | printed.
    C : float, default 1.0
        Largest step of pa1 (pa2: 1 / (2 C)). Values: 1e-12 .. 1e+12.
    beta1 : float, default 0.9
        Factor of a learner's weight after a mistake. Values: 1e-09 .. 1.
    beta2 : float, default 0.9
        The same for a source. Values: 1e-09 .. 1.
    horizon : float, default 0.0
        Rounds to come: sets both betas as in the paper; 0: as set. Values: 0 .. 1e+15.
    per_class : int, default 0
        Rows of each class drawn from each source; 0: all. Values: 0 .. 1e+09.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    HetOMTL-CDSPP: Heterogeneous Online Multi-Source Transfer Learning with Cross-Domain Structure Preserving
    Projection, 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.HetOMTLPaper().fit(X[1::4], y[1::4], sources=[old])
    >>> model = model.partial_fit(X[3::4], y[3::4])
    >>> model.score(X, y) > 0.6
    True
    >>> model.learn_one(X[0], y[0]).predict_one(X[0]) in model.classes_
    True
    """

    _method = 'hetomtl-paper'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'mpa'}
    _options = (
        ('alpha', 'alpha', 1.0),
        ('post', 'post', 'none'),
        ('variant', 'variant', 'pa1'),
        ('C', 'C', 1.0),
        ('beta1', 'beta1', 0.9),
        ('beta2', 'beta2', 0.9),
        ('horizon', 'horizon', 0.0),
        ('per_class', 'per_class', 0),
    )

    def __init__(self, *,
                 alpha: float = 1.0, post: Literal['none', 'l2', 'centred'] = 'none',
                 variant: Literal['pa', 'pa1', 'pa2', 'printed'] = 'pa1', C: float = 1.0, beta1: float = 0.9,
                 beta2: float = 0.9, horizon: float = 0.0, per_class: int = 0, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.alpha = alpha
        self.post = post
        self.variant = variant
        self.C = C
        self.beta1 = beta1
        self.beta2 = beta2
        self.horizon = horizon
        self.per_class = per_class
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Hop(_Proba, FerryClassifier):
    """A chain of classifiers over the bridge, each trained by the one before.

    Needs source labels, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    learner : str, default 'logreg'
        Classifier of each step; gp: kernel regression for the last. Values: logreg | svm | gp.
    targets : str, default 'auto'
        Pass probabilities on, or classes; auto: classes with svm. Values: auto | soft | hard.
    C : float, default 0.0
        Cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by cross-validation on the labels that
        train it. Values: 0 .. 1e+09.
    gate : bool, default False
        Gp: let labels of the target correct the bridge or overrule it. Values: yes | no.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.Hop().fit(X[1::4], y[1::4], sources=[old])
    >>> model.score(X[3::4], y[3::4]) > 0.6
    True
    """

    _method = 'hop'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('learner', 'learner', 'logreg'),
        ('targets', 'targets', 'auto'),
        ('C', 'C', 0.0),
        ('gate', 'gate', False),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 learner: Literal['logreg', 'svm', 'gp'] = 'logreg',
                 targets: Literal['auto', 'soft', 'hard'] = 'auto', C: float = 0.0, gate: bool = False,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.learner = learner
        self.targets = targets
        self.C = C
        self.gate = gate
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class HTLIC(_Proba, FerryClassifier):
    """Latent features of the target from a bridge's pairs, for an SVM on its labels.

    Needs a source, an intermediate domain, some target labels that may be seen, a view of every domain, features that
    lead from a source to the target.

    Parameters
    ----------
    latent : int, default 30
        Latent features. Values: 1 .. 10000.
    lambda_ : float, default 1.0
        Weight of the source's documents. Values: 0 .. 1e+09.
    iterations : int, default 100
        Of the factorisation. Values: 1 .. 1e+06.
    beside : bool, default True
        Keep the target's own features beside the latent ones. Values: yes | no.
    C : float, default 1.0
        Cost of errors of the classifier. Values: 1e-09 .. 1e+09.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Zhu, Chen, Lu, Pan, Xue, Yu, Yang, Heterogeneous Transfer Learning for Image Classification, AAAI 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> old = ferryml.Source(views={"petal": X[::3, 2:]}, y=y[::3], name="old")
    >>> both = ferryml.Bridge(views={"petal": X[1::3, 2:], "sepal": X[1::3, :2]}, name="both")
    >>> new = ferryml.Domain(views={"sepal": X[2::3, :2]})
    >>> few = np.where(np.arange(50) % 5 == 0, y[2::3], np.nan)  # of the others the label is not known
    >>> model = ferryml.HTLIC().fit(new, few, sources=[old, both])
    >>> model.score(new, y[2::3]) > 0.5
    True
    """

    _method = 'htlic'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('latent', 'latent', 30),
        ('lambda_', 'lambda', 1.0),
        ('iterations', 'iterations', 100),
        ('beside', 'beside', True),
        ('C', 'C', 1.0),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
    )

    def __init__(self, *,
                 latent: int = 30, lambda_: float = 1.0, iterations: int = 100, beside: bool = True,
                 C: float = 1.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.latent = latent
        self.lambda_ = lambda_
        self.iterations = iterations
        self.beside = beside
        self.C = C
        self.scale = scale
        self.leaks = leaks
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ICA(_Proba, FerryClassifier):
    """Iterative classification: features and the classes among the neighbours.

    Needs some target labels that may be seen, a view of the target, a graph of the target.

    Parameters
    ----------
    C : float, default 1.0
        Cost of errors against small weights. Values: 1e-09 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    max_iter : int, default 20
        Rounds of prediction, at most. Values: 1 .. 1e+06.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Sen et al., Collective Classification in Network Data, AI Magazine 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> from sklearn.neighbors import kneighbors_graph
    >>> flowers = ferryml.Domain(X, graphs={"near": kneighbors_graph(X, 5)})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.ICA().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'ica'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('C', 'C', 1.0),
        ('eps', 'eps', 0.01),
        ('max_iter', 'max_iter', 20),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 1.0, eps: float = 0.01, max_iter: int = 20,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.max_iter = max_iter
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KCCA(_Proba, FerryClassifier):
    """A common space from pairs by kernel canonical correlations, and a learner.

    Needs source labels, a view of the target.

    Parameters
    ----------
    k : int, default 30
        Dimensions of the space, at most. Values: 1 .. 1e+06.
    ridge : float, default 0.1
        Added to the covariances, times their mean eigenvalue. Values: 1e-12 .. 1e+06.
    learner : str, default 'logreg'
        Learner in the space. Values: knn | logreg | ridge | svm.
    neighbours : int, default 10
        Knn: neighbours that vote. Values: 1 .. 1e+06.
    C : float, default 3.0
        Logreg, svm: cost of errors. Values: 1e-09 .. 1e+09.
    lambda_ : float, default 1.0
        Ridge: weight of |W|^2. Values: 1e-12 .. 1e+12.
    rows : str, default 'both'
        Labelled rows that it learns from. Values: both | source.
    width : float, default 1.0
        Of the kernel, times the median squared distance of the pairs. Values: 1e-06 .. 1e+06.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Hardoon, Szedmak, Shawe-Taylor, Canonical Correlation Analysis: An Overview with Application to Learning Methods,
    Neural Computation 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> old = ferryml.Source(views={"petal": X[::3, 2:]}, y=y[::3], name="old")
    >>> both = ferryml.Bridge(views={"petal": X[1::3, 2:], "sepal": X[1::3, :2]}, name="both")
    >>> new = ferryml.Domain(views={"sepal": X[2::3, :2]})
    >>> few = np.where(np.arange(50) % 5 == 0, y[2::3], np.nan)  # of the others the label is not known
    >>> model = ferryml.KCCA().fit(new, few, sources=[old, both])
    >>> model.score(new, y[2::3]) > 0.5
    True
    """

    _method = 'kcca'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('k', 'k', 30),
        ('ridge', 'ridge', 0.1),
        ('learner', 'learner', 'logreg'),
        ('neighbours', 'neighbours', 10),
        ('C', 'C', 3.0),
        ('lambda_', 'lambda', 1.0),
        ('rows', 'rows', 'both'),
        ('width', 'width', 1.0),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 k: int = 30, ridge: float = 0.1, learner: Literal['knn', 'logreg', 'ridge', 'svm'] = 'logreg',
                 neighbours: int = 10, C: float = 3.0, lambda_: float = 1.0,
                 rows: Literal['both', 'source'] = 'both', width: float = 1.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.ridge = ridge
        self.learner = learner
        self.neighbours = neighbours
        self.C = C
        self.lambda_ = lambda_
        self.rows = rows
        self.width = width
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KernelBridge(_Proba, FerryClassifier):
    """Kernel regression over the bridge, joined with a learner for few labels.

    Needs source labels, an intermediate domain, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> old = ferryml.Source(views={"petal": X[::3, 2:]}, y=y[::3], name="old")
    >>> both = ferryml.Bridge(views={"petal": X[1::3, 2:], "sepal": X[1::3, :2]}, name="both")
    >>> new = ferryml.Domain(views={"sepal": X[2::3, :2]})
    >>> few = np.where(np.arange(50) % 5 == 0, y[2::3], np.nan)  # of the others the label is not known
    >>> model = ferryml.KernelBridge().fit(new, few, sources=[old, both])
    >>> model.score(new, y[2::3]) > 0.5
    True
    """

    _method = 'kernel-bridge'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KMeansHop(FerryClassifier):
    """Clusters of the target, named by a chain of classifiers: what names alone do.

    Needs source labels, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    restarts : int, default 10
        K-means++ starts; the tightest groups win. Values: 1 .. 10000.
    iterations : int, default 100
        Of each start, at most. Values: 1 .. 100000.
    C : float, default 0.0
        Cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by cross-validation on the labels that
        train it. Values: 0 .. 1e+09.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> ferryml.KMeansHop().fit(X, y, sources=[old]).predict(X).shape[0]
    150
    """

    _method = 'kmeans-hop'
    _goals = ('classify',)
    _multilabel = False
    _poor = True
    _fallback = {'classify': 'logreg'}
    _options = (
        ('restarts', 'restarts', 10),
        ('iterations', 'iterations', 100),
        ('C', 'C', 0.0),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 restarts: int = 10, iterations: int = 100, C: float = 0.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.restarts = restarts
        self.iterations = iterations
        self.C = C
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KNN(_Weighted, _Proba, FerryClassifier):
    """The k nearest labelled instances vote.

    Needs a view of the target.

    Parameters
    ----------
    k : int, default 0
        Neighbours that vote; 0: 5, or the best of 1, 5 and 15 by cross-validation on the target's labels, where
        every class has five of them. Values: 0 .. 1e+06.
    distance : str, default 'euclidean'
        What nearest means. Values: euclidean | cosine.
    weights : str, default 'uniform'
        Votes count alike, or 1 / distance. Values: uniform | distance.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Cover and Hart, Nearest Neighbor Pattern Classification, IEEE IT 1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ferryml.KNN().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.8
    True
    """

    _method = 'knn'
    _goals = ('classify', 'multilabel')
    _multilabel = True
    _options = (
        ('k', 'k', 0),
        ('distance', 'distance', 'euclidean'),
        ('weights', 'weights', 'uniform'),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 k: int = 0, distance: Literal['euclidean', 'cosine'] = 'euclidean',
                 weights: Literal['uniform', 'distance'] = 'uniform',
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.distance = distance
        self.weights = weights
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class KNNRegressor(_Weighted, FerryRegressor):
    """The k nearest labelled instances vote.

    Needs a view of the target.

    Parameters
    ----------
    k : int, default 0
        Neighbours that vote; 0: 5, or the best of 1, 5 and 15 by cross-validation on the target's labels, where
        every class has five of them. Values: 0 .. 1e+06.
    distance : str, default 'euclidean'
        What nearest means. Values: euclidean | cosine.
    weights : str, default 'uniform'
        Votes count alike, or 1 / distance. Values: uniform | distance.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Cover and Hart, Nearest Neighbor Pattern Classification, IEEE IT 1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> X, width = X[:, :3], X[:, 3]
    >>> model = ferryml.KNNRegressor().fit(X[1::4], width[1::4])
    >>> model.score(X[3::4], width[3::4]) > 0.5
    True
    """

    _method = 'knn'
    _goals = ('regress',)
    _options = (
        ('k', 'k', 0),
        ('distance', 'distance', 'euclidean'),
        ('weights', 'weights', 'uniform'),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 k: int = 0, distance: Literal['euclidean', 'cosine'] = 'euclidean',
                 weights: Literal['uniform', 'distance'] = 'uniform',
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.distance = distance
        self.weights = weights
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class LabelPrior(FerryClassifier):
    """Labels by how often they occur, whatever the features.

    Needs labels of a source or the target.

    Parameters
    ----------
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]
    >>> ferryml.LabelPrior().fit(X, sets).predict(X).shape[0]
    150
    """

    _method = 'label-prior'
    _goals = ('multilabel',)
    _multilabel = True
    _poor = True
    _options = (
        ('train', 'train', 'auto'),
    )

    def __init__(self, *,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto', sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.train = train
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class LabelPropagation(_Proba, FerryClassifier):
    """Labels spread over the target's graphs, without features.

    Needs some target labels that may be seen, a graph of the target.

    Parameters
    ----------
    alpha : float, default 0.99
        Share of the neighbours, against the prior. Values: 0 .. 1.
    max_iter : int, default 200
        Steps, at most. Values: 1 .. 1e+06.
    tol : float, default 1e-05
        Change to stop at. Values: 0 .. 1.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Zhu, Ghahramani and Lafferty, Semi-Supervised Learning Using Gaussian Fields and Harmonic Functions, ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> from sklearn.neighbors import kneighbors_graph
    >>> flowers = ferryml.Domain(X, graphs={"near": kneighbors_graph(X, 5)})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.LabelPropagation().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'label-propagation'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('alpha', 'alpha', 0.99),
        ('max_iter', 'max_iter', 200),
        ('tol', 'tol', 1e-05),
    )

    def __init__(self, *,
                 alpha: float = 0.99, max_iter: int = 200, tol: float = 1e-05, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class LabelPropagationRegressor(FerryRegressor):
    """Labels spread over the target's graphs, without features.

    Needs some target labels that may be seen, a graph of the target.

    Parameters
    ----------
    alpha : float, default 0.99
        Share of the neighbours, against the prior. Values: 0 .. 1.
    max_iter : int, default 200
        Steps, at most. Values: 1 .. 1e+06.
    tol : float, default 1e-05
        Change to stop at. Values: 0 .. 1.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Zhu, Ghahramani and Lafferty, Semi-Supervised Learning Using Gaussian Fields and Harmonic Functions, ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> from sklearn.neighbors import kneighbors_graph
    >>> flowers = ferryml.Domain(X, graphs={"near": kneighbors_graph(X, 5)})
    >>> model = ferryml.LabelPropagationRegressor().fit(flowers, np.where(np.arange(150) % 3 > 0, X[:, 3], np.nan))
    >>> model.score(flowers, X[:, 3]) > 0.5
    True
    """

    _method = 'label-propagation'
    _goals = ('regress',)
    _options = (
        ('alpha', 'alpha', 0.99),
        ('max_iter', 'max_iter', 200),
        ('tol', 'tol', 1e-05),
    )

    def __init__(self, *,
                 alpha: float = 0.99, max_iter: int = 200, tol: float = 1e-05, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class LatentMap(_Proba, FerryClassifier):
    """Fills in features that one domain lacks and maps both to a latent space.

    Needs source labels, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    path : str, default 'sit'
        By way of the intermediate domains, or straight to the target. Values: sit | st.
    rank : int, default 50
        Columns of the latent space. Values: 1 .. 10000.
    lambda_ : float, default 1.0
        Ridge of the regression that fills in features. Values: 1e-09 .. 1e+09.
    C : float, default 0.0
        Cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by cross-validation on the labels that
        train it. Values: 0 .. 1e+09.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Xie, Fan, Peng, Fan, Ren, Latent Space Domain Transfer between High Dimensional Overlapping Distributions, WWW
    2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.LatentMap().fit(X[1::4], y[1::4], sources=[old])
    >>> model.score(X[3::4], y[3::4]) > 0.6
    True
    """

    _method = 'latentmap'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('path', 'path', 'sit'),
        ('rank', 'rank', 50),
        ('lambda_', 'lambda', 1.0),
        ('C', 'C', 0.0),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 path: Literal['sit', 'st'] = 'sit', rank: int = 50, lambda_: float = 1.0, C: float = 0.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.path = path
        self.rank = rank
        self.lambda_ = lambda_
        self.C = C
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class LIFT(FerryClassifier):
    """A linear SVM for every label on distances to clusters of its own.

    Needs a view of the target.

    Parameters
    ----------
    learner : str, default 'svm'
        What learns from the distances: an SVM for each label, or one RankSVM for all. Values: svm | ranksvm.
    ratio : float, default 0.1
        Clusters for each instance of the rarer side. Values: 1e-06 .. 1.
    max_iter : int, default 100
        Steps of k-means. Values: 1 .. 1e+09.
    C : float, default 1.0
        Cost of errors against small weights. Values: above 0 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance of the SVMs. Values: 1e-12 .. 1.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Zhang and Wu, LIFT: Multi-Label Learning with Label-Specific Features, IEEE TPAMI 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> model = ferryml.LIFT().fit(X[1::4], sets[1::4])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'lift'
    _goals = ('multilabel',)
    _multilabel = True
    _options = (
        ('learner', 'learner', 'svm'),
        ('ratio', 'ratio', 0.1),
        ('max_iter', 'max_iter', 100),
        ('C', 'C', 1.0),
        ('eps', 'eps', 0.01),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 learner: Literal['svm', 'ranksvm'] = 'svm', ratio: float = 0.1, max_iter: int = 100,
                 C: float = 1.0, eps: float = 0.01, train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.learner = learner
        self.ratio = ratio
        self.max_iter = max_iter
        self.C = C
        self.eps = eps
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class LogReg(_Weighted, _Proba, FerryClassifier):
    """Logistic regression, one against the rest.

    Needs a view of the target.

    Parameters
    ----------
    C : float, default 0.0
        Cost of errors against small weights; 0: 10 for classes, or the best of 1, 10 and 100 by cross-validation
        on the target's labels, where every class has five of them; 1 for label sets. Values: 0 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    balanced : bool, default False
        Weigh classes by n / (k n_c). Values: yes | no.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Fan et al., LIBLINEAR: A Library for Large Linear Classification, JMLR 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ferryml.LogReg().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.8
    True
    """

    _method = 'logreg'
    _goals = ('classify', 'multilabel')
    _multilabel = True
    _options = (
        ('C', 'C', 0.0),
        ('eps', 'eps', 0.01),
        ('balanced', 'balanced', False),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 0.0, eps: float = 0.01, balanced: bool = False,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.balanced = balanced
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Majority(_Proba, FerryClassifier):
    """The most frequent class for every instance; labels by how often they occur.

    Needs labels of a source or the target.

    Parameters
    ----------
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> ferryml.Majority().fit(X, y).predict(X).shape[0]
    150
    """

    _method = 'majority'
    _goals = ('classify', 'multilabel')
    _multilabel = True
    _poor = True
    _options = (
        ('train', 'train', 'auto'),
    )

    def __init__(self, *,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto', sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.train = train
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Mean(FerryRegressor):
    """The mean of the known numbers for every instance.

    Needs labels of a source or the target.

    Parameters
    ----------
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> ferryml.Mean().fit(X, X[:, 3]).predict(X).shape[0]
    150
    """

    _method = 'mean'
    _goals = ('regress',)
    _poor = True
    _options = (
        ('train', 'train', 'auto'),
    )

    def __init__(self, *,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto', sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.train = train
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MF(FerryRater):
    """Biased matrix factorisation of the target's ratings.

    Needs ratings of every domain.

    Parameters
    ----------
    solver : str, default 'auto'
        Full covariances, or diagonal ones: faster; auto: vb up to 2 million ratings, then vb-diagonal. Values:
        auto | vb | vb-diagonal.
    rank : int, default 0
        Columns of the two factors; 0: 5, 10 and 20 weighed (vb), else 20. Values: 0 .. 1000.
    sweeps : int, default 0
        Most sweeps over users and items; 0: 10 (vb), 6 (vb-diagonal). Values: 0 .. 1e+06.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Lim and Teh, Variational Bayesian Approach to Movie Rating Prediction, KDD Cup 2007.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> model = ferryml.MF().fit(pairs[rows], stars[rows])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'mf'
    _goals = ('rate',)
    _options = (
        ('solver', 'solver', 'auto'),
        ('rank', 'rank', 0),
        ('sweeps', 'sweeps', 0),
    )

    def __init__(self, *,
                 solver: Literal['auto', 'vb', 'vb-diagonal'] = 'auto', rank: int = 0, sweeps: int = 0,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.solver = solver
        self.rank = rank
        self.sweeps = sweeps
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MfAls(FerryRater):
    """Biased matrix factorisation of the target's ratings by least squares.

    Needs ratings of every domain.

    Parameters
    ----------
    rank : int, default 20
        Columns of the two factors. Values: 1 .. 1000.
    sweeps : int, default 20
        Most sweeps over users and items. Values: 1 .. 1e+06.
    ridge : str, default 'row'
        Lambda for each user and item, or for each of their ratings. Values: row | rating.
    lambda_ : float, default 16.0
        Ridge weight of the factors. Values: 1e-09 .. 1e+09.
    bias : float, default 5.0
        Ratings of size 0 that shrink a bias. Values: 0 .. 1e+09.
    tol : float, default 0.0001
        Relative drop of the objective to stop at. Values: 0 .. 1.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Koren, Bell and Volinsky, Matrix Factorization Techniques, Computer 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> model = ferryml.MfAls().fit(pairs[rows], stars[rows])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'mf-als'
    _goals = ('rate',)
    _options = (
        ('rank', 'rank', 20),
        ('sweeps', 'sweeps', 20),
        ('ridge', 'ridge', 'row'),
        ('lambda_', 'lambda', 16.0),
        ('bias', 'bias', 5.0),
        ('tol', 'tol', 0.0001),
    )

    def __init__(self, *,
                 rank: int = 20, sweeps: int = 20, ridge: Literal['row', 'rating'] = 'row', lambda_: float = 16.0,
                 bias: float = 5.0, tol: float = 0.0001, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.rank = rank
        self.sweeps = sweeps
        self.ridge = ridge
        self.lambda_ = lambda_
        self.bias = bias
        self.tol = tol
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MINDTL(FerryRater):
    """What several incomplete sources know about ratings, for the target.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    use : int, default 0
        Sources used, the first of the task; 0: all. Values: 0 .. 1000.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering Using Multiple Rating Patterns
    Approximation, WSDM 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.MINDTL().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'mindtl'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('use', 'use', 0),
    )

    def __init__(self, *,
                 use: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.use = use
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MINDTLPaper(FerryRater):
    """Rating patterns of several incomplete sources, hard groups, as published.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    k : int, default 10
        Groups of users; 0: a tenth of a source's users. Values: 0 .. 1000.
    l : int, default 10
        Groups of items; 0: a tenth of a source's items. Values: 0 .. 1000.
    extract : str, default 'ionmtf'
        How the groups of a source are found. Values: ionmtf | onmtf | dc-onmtf | kmeans.
    update : str, default 'paper'
        Updates of ionmtf: as published, or towards orthogonal columns. Values: paper | orth.
    sweeps : int, default 60
        Sweeps of ionmtf and onmtf. Values: 0 .. 1e+06.
    polish : int, default 20
        Most sweeps of two-way k-means after it. Values: 0 .. 1e+06.
    restarts : int, default 3
        Starts of an extraction; the best is kept. Values: 1 .. 1e+06.
    beta : float, default 5.0
        Ratings that draw a block's mean to its row and column. Values: 0 .. 1e+09.
    most : int, default 400
        Users and items of a source, those with most ratings; 0: all. Values: 0 .. 1e+09.
    order : str, default 'task'
        Sources as the task has them, or by the error of each alone on ratings held out. Values: task | nearest.
    use : int, default 0
        Sources used, the first in that order; 0: all. Values: 0 .. 1000.
    starts : int, default 1
        Starts over the target, all but the first random; the best is kept. Values: 1 .. 1e+06.
    iters : int, default 20
        Sweeps over the target. Values: 1 .. 1e+06.
    lambda_ : str, default 'simplex'
        Weights of the sources. Values: simplex | sgd | ls.
    theta : float, default 0.05
        Learning rate of lambda: sgd. Values: 1e-09 .. 1.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    He et al., Robust Transfer Learning for Cross-domain Collaborative Filtering Using Multiple Rating Patterns
    Approximation, WSDM 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.MINDTLPaper().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'mindtl-paper'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('k', 'k', 10),
        ('l', 'l', 10),
        ('extract', 'extract', 'ionmtf'),
        ('update', 'update', 'paper'),
        ('sweeps', 'sweeps', 60),
        ('polish', 'polish', 20),
        ('restarts', 'restarts', 3),
        ('beta', 'beta', 5.0),
        ('most', 'most', 400),
        ('order', 'order', 'task'),
        ('use', 'use', 0),
        ('starts', 'starts', 1),
        ('iters', 'iters', 20),
        ('lambda_', 'lambda', 'simplex'),
        ('theta', 'theta', 0.05),
    )

    def __init__(self, *,
                 k: int = 10, l: int = 10, extract: Literal['ionmtf', 'onmtf', 'dc-onmtf', 'kmeans'] = 'ionmtf',
                 update: Literal['paper', 'orth'] = 'paper', sweeps: int = 60, polish: int = 20,
                 restarts: int = 3, beta: float = 5.0, most: int = 400,
                 order: Literal['task', 'nearest'] = 'task', use: int = 0, starts: int = 1, iters: int = 20,
                 lambda_: Literal['simplex', 'sgd', 'ls'] = 'simplex', theta: float = 0.05,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.l = l
        self.extract = extract
        self.update = update
        self.sweeps = sweeps
        self.polish = polish
        self.restarts = restarts
        self.beta = beta
        self.most = most
        self.order = order
        self.use = use
        self.starts = starts
        self.iters = iters
        self.lambda_ = lambda_
        self.theta = theta
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MMDT(FerryClassifier):
    """The target's rows mapped into the source's features, by their classes.

    Needs source labels, some target labels that may be seen, one view of every domain.

    Parameters
    ----------
    source_C : float, default 0.05
        Cost of errors on rows of the source. Values: 1e-09 .. 1e+09.
    target_C : float, default 1.0
        Cost of errors on rows of the target. Values: 1e-09 .. 1e+09.
    iterations : int, default 25
        Of transform and classifiers, at most. Values: 1 .. 1e+06.
    tol : float, default 1e-05
        Stop where the objective falls by less, times itself. Values: 0 .. 1.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Hoffman, Rodner, Donahue, Saenko, Darrell, Efficient Learning of Domain-invariant Image Representations, ICLR 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.MMDT().fit(X[1::4, :2], y[1::4], sources=[old])
    >>> model.score(X[3::4, :2], y[3::4]) > 0.5
    True
    """

    _method = 'mmdt'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('source_C', 'source_C', 0.05),
        ('target_C', 'target_C', 1.0),
        ('iterations', 'iterations', 25),
        ('tol', 'tol', 1e-05),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 source_C: float = 0.05, target_C: float = 1.0, iterations: int = 25, tol: float = 1e-05,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.source_C = source_C
        self.target_C = target_C
        self.iterations = iterations
        self.tol = tol
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MMLTL(FerryClassifier):
    """Label sets through a subspace in which the domains' means are close.

    Needs source labels, a view of the target.

    Parameters
    ----------
    mmd : str, default 'on'
        Off: no term that brings the domains together (MLTL). Values: on | off.
    rho : float, default 15.0
        Strength of the term, whatever the unit of the features. Values: 0 or more.
    mu : str, default 'auto'
        Its weight: a number, inf, or auto (from rho). Values: text.
    gate : bool, default True
        Mu auto, no kernel: where the domains' means do not differ, cross-validation chooses between features and
        subspace. Values: yes | no.
    g : int, default 0
        Latent features; 0: as many as labels. Values: 0 .. 1e+06.
    g1 : float, default 1.0
        Weight of |U|^2. Values: above 0.
    g2 : float, default 1.0
        Weight of |V|^2. Values: above 0.
    centre : bool, default True
        Take the source's mean off G. Values: yes | no.
    latent : str, default 'zscore'
        Scale latent features each, or all alike. Values: zscore | plain.
    shrink : str, default 'none'
        Shrink the difference of the means by its noise. Values: none | js | soft.
    kernel : str, default 'none'
        Work in the space of a kernel. Values: none | linear | rbf.
    gamma : float, default 0.0
        Rbf: exp(-gamma |x - y|^2); 0: 1 / median of |x - y|^2. Values: 0 or more.
    max_iter : int, default 1000
        Most steps. Values: 1 .. 1e+09.
    tol : float, default 1e-10
        Gradient at which to stop, relative to |G|. Values: 0 .. 1.
    C : float, default 1.0
        Cost of a label that comes after one it should precede. Values: above 0 .. 1e+09.
    epochs : int, default 100
        Most passes over the instances. Values: 1 .. 1e+09.
    rank_tol : float, default 0.0001
        Stop at a pass that finds the mean loss of an instance within about this of the least. Values: 0 .. 1.
    scale : str, default 'standard'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Jiang et al., Multi-label Transfer Learning via Maximum Mean Discrepancy, Information and Control 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> old = ferryml.Source(X[::2], sets[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.MMLTL().fit(X[1::4], sets[1::4], sources=[old])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'mmltl'
    _goals = ('multilabel',)
    _multilabel = True
    _fallback = {'multilabel': 'ranksvm'}
    _options = (
        ('mmd', 'mmd', 'on'),
        ('rho', 'rho', 15.0),
        ('mu', 'mu', 'auto'),
        ('gate', 'gate', True),
        ('g', 'g', 0),
        ('g1', 'g1', 1.0),
        ('g2', 'g2', 1.0),
        ('centre', 'centre', True),
        ('latent', 'latent', 'zscore'),
        ('shrink', 'shrink', 'none'),
        ('kernel', 'kernel', 'none'),
        ('gamma', 'gamma', 0.0),
        ('max_iter', 'max_iter', 1000),
        ('tol', 'tol', 1e-10),
        ('C', 'C', 1.0),
        ('epochs', 'epochs', 100),
        ('rank_tol', 'rank_tol', 0.0001),
        ('scale', 'scale', 'standard'),
    )

    def __init__(self, *,
                 mmd: Literal['on', 'off'] = 'on', rho: float = 15.0, mu: str = 'auto', gate: bool = True,
                 g: int = 0, g1: float = 1.0, g2: float = 1.0, centre: bool = True,
                 latent: Literal['zscore', 'plain'] = 'zscore', shrink: Literal['none', 'js', 'soft'] = 'none',
                 kernel: Literal['none', 'linear', 'rbf'] = 'none', gamma: float = 0.0, max_iter: int = 1000,
                 tol: float = 1e-10, C: float = 1.0, epochs: int = 100, rank_tol: float = 0.0001,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'standard',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.mmd = mmd
        self.rho = rho
        self.mu = mu
        self.gate = gate
        self.g = g
        self.g1 = g1
        self.g2 = g2
        self.centre = centre
        self.latent = latent
        self.shrink = shrink
        self.kernel = kernel
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.C = C
        self.epochs = epochs
        self.rank_tol = rank_tol
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MMLTLPaper(FerryClassifier):
    """Mmltl as published: plain sweeps from a random start.

    Needs source labels, a view of the target.

    Parameters
    ----------
    mmd : str, default 'on'
        Off: no term that brings the domains together (MLTL). Values: on | off.
    mu : float, default 30.0
        Its weight. Values: 0 or more.
    g : int, default 0
        Latent features; 0: as many as labels. Values: 0 .. 1e+06.
    g1 : float, default 1.0
        Weight of |U|^2. Values: above 0.
    g2 : float, default 1.0
        Weight of |V|^2. Values: above 0.
    sweeps : int, default 50
        Times that V and U are found. Values: 1 .. 1e+09.
    sylvester : str, default 'exact'
        How U is found; bartels-stewart is slow. Values: exact | bartels-stewart.
    C : float, default 1.0
        Cost of a label that comes after one it should precede. Values: above 0 .. 1e+09.
    epochs : int, default 100
        Most passes over the instances. Values: 1 .. 1e+09.
    scale : str, default 'none'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Jiang et al., Multi-label Transfer Learning via Maximum Mean Discrepancy, Information and Control 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> old = ferryml.Source(X[::2], sets[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.MMLTLPaper().fit(X[1::4], sets[1::4], sources=[old])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'mmltl-paper'
    _goals = ('multilabel',)
    _multilabel = True
    _fallback = {'multilabel': 'ranksvm'}
    _options = (
        ('mmd', 'mmd', 'on'),
        ('mu', 'mu', 30.0),
        ('g', 'g', 0),
        ('g1', 'g1', 1.0),
        ('g2', 'g2', 1.0),
        ('sweeps', 'sweeps', 50),
        ('sylvester', 'sylvester', 'exact'),
        ('C', 'C', 1.0),
        ('epochs', 'epochs', 100),
        ('scale', 'scale', 'none'),
    )

    def __init__(self, *,
                 mmd: Literal['on', 'off'] = 'on', mu: float = 30.0, g: int = 0, g1: float = 1.0, g2: float = 1.0,
                 sweeps: int = 50, sylvester: Literal['exact', 'bartels-stewart'] = 'exact', C: float = 1.0,
                 epochs: int = 100,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'none',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.mmd = mmd
        self.mu = mu
        self.g = g
        self.g1 = g1
        self.g2 = g2
        self.sweeps = sweeps
        self.sylvester = sylvester
        self.C = C
        self.epochs = epochs
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class MPA(_Stream, FerryClassifier):
    """Passive-aggressive classifier of the target, for streams.

    Needs a view of the target.

    Parameters
    ----------
    variant : str, default 'pa1'
        How large a step may be; printed: the HetOMTL paper's formula. Values: pa | pa1 | pa2 | printed.
    C : float, default 1.0
        Pa1, printed: largest step; pa2: 1 / (2 C) is added to 2 x'x. Values: 1e-12 .. 1e+12.
    scale : str, default 'l2'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    causal : bool, default False
        Then (x - mean) / sd of the rows so far, to unit length. Values: yes | no.
    average : bool, default False
        Predict with the average of the weights after each sample. Values: yes | no.
    passes : int, default 1
        Steps for each sample, each against another class if necessary. Values: 1 .. 1000.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online Passive-Aggressive Algorithms, JMLR 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ferryml.MPA().fit(X[1::4], y[1::4])
    >>> model = model.partial_fit(X[3::4], y[3::4])
    >>> model.score(X, y) > 0.6
    True
    >>> model.learn_one(X[0], y[0]).predict_one(X[0]) in model.classes_
    True
    """

    _method = 'mpa'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('variant', 'variant', 'pa1'),
        ('C', 'C', 1.0),
        ('scale', 'scale', 'l2'),
        ('causal', 'causal', False),
        ('average', 'average', False),
        ('passes', 'passes', 1),
    )

    def __init__(self, *,
                 variant: Literal['pa', 'pa1', 'pa2', 'printed'] = 'pa1', C: float = 1.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'l2',
                 causal: bool = False, average: bool = False, passes: int = 1, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.variant = variant
        self.C = C
        self.scale = scale
        self.causal = causal
        self.average = average
        self.passes = passes
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class OMTLMC(_Stream, FerryClassifier):
    """OMTL-MC after CDSPP: online transfer, weights by losses.

    Needs source labels, some target labels that may be seen, a view of the target.

    Parameters
    ----------
    alpha : float, default 1.0
        CDSPP: weight of |P|^2. Values: 1e-12 .. 1e+12.
    post : str, default 'none'
        What comes after the projection: unit length, after centring. Values: none | l2 | centred.
    variant : str, default 'pa1'
        How large a step may be; printed: the paper's formula. Values: pa | pa1 | pa2 | printed.
    C : float, default 1.0
        Largest step of pa1 (pa2: 1 / (2 C)). Values: 1e-12 .. 1e+12.
    beta1 : float, default 0.9
        Factor of a learner's weight after a mistake. Values: 1e-09 .. 1.
    beta2 : float, default 0.9
        The same for a source. Values: 1e-09 .. 1.
    horizon : float, default 0.0
        Rounds to come: sets both betas as in the paper; 0: as set. Values: 0 .. 1e+15.
    per_class : int, default 0
        Rows of each class drawn from each source; 0: all. Values: 0 .. 1e+09.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    OMTLMC-CDSPP, the comparison of HetOMTL-CDSPP, 2023 (reconstructed).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old")  # the same classes, other features
    >>> model = ferryml.OMTLMC().fit(X[1::4], y[1::4], sources=[old])
    >>> model = model.partial_fit(X[3::4], y[3::4])
    >>> model.score(X, y) > 0.6
    True
    >>> model.learn_one(X[0], y[0]).predict_one(X[0]) in model.classes_
    True
    """

    _method = 'omtlmc'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'mpa'}
    _options = (
        ('alpha', 'alpha', 1.0),
        ('post', 'post', 'none'),
        ('variant', 'variant', 'pa1'),
        ('C', 'C', 1.0),
        ('beta1', 'beta1', 0.9),
        ('beta2', 'beta2', 0.9),
        ('horizon', 'horizon', 0.0),
        ('per_class', 'per_class', 0),
    )

    def __init__(self, *,
                 alpha: float = 1.0, post: Literal['none', 'l2', 'centred'] = 'none',
                 variant: Literal['pa', 'pa1', 'pa2', 'printed'] = 'pa1', C: float = 1.0, beta1: float = 0.9,
                 beta2: float = 0.9, horizon: float = 0.0, per_class: int = 0, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.alpha = alpha
        self.post = post
        self.variant = variant
        self.C = C
        self.beta1 = beta1
        self.beta2 = beta2
        self.horizon = horizon
        self.per_class = per_class
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class PCAJoined(FerryTransformer):
    """Principal components of all views of the target side by side.

    Needs a view of the target.

    Parameters
    ----------
    d : int, default -1
        Dimensions of the embedding; -1: 10, or as many as the views span. Values: -1 .. 1e+06.
    balance : str, default 'auto'
        Then views to one size: mean squared length of rows, or largest singular value; auto: frob, none with
        scale: none. Values: auto | none | frob | spectral.
    missing : str, default 'auto'
        Instances that lack views: as if at the mean, or by regression from the others; auto: regress when half or
        more are lacking. Values: auto | mean | regress.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Pearson, On Lines and Planes of Closest Fit, Philosophical Magazine 1901.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> ferryml.PCAJoined(d=2).fit(X[:, :2], y).transform(X[:5, :2]).shape[0]
    5
    """

    _method = 'pca-joined'
    _goals = ('embed',)
    _options = (
        ('d', 'd', -1),
        ('balance', 'balance', 'auto'),
        ('missing', 'missing', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 d: int = -1, balance: Literal['auto', 'none', 'frob', 'spectral'] = 'auto',
                 missing: Literal['auto', 'mean', 'regress'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.d = d
        self.balance = balance
        self.missing = missing
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Place(_Proba, FerryClassifier):
    """Classes without a target label, placed by the geometry of the source's.

    Needs source labels, some target labels that may be seen, a view of every domain.

    Parameters
    ----------
    name : str, default 'auto'
        Classes without a label get their names: where the test on the seen classes says that the source's geometry
        holds, or in any case. Values: auto | always.
    neighbours : int, default 10
        Nearest rows to which a row passes its label. Values: 1 .. 1000.
    prior : str, default ''
        Known shares of classes, "cat=0.2,dog=0.1"; the others share the rest alike. Empty: all alike. Values:
        text.
    most : int, default 20000
        Rows among which labels spread; of more a sample is drawn and the others ask their nearest in it (cost
        grows with the square). Values: 100 .. 1e+06.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> old = ferryml.Source(views={"petal": X[::3, 2:]}, y=y[::3], name="old")
    >>> both = ferryml.Bridge(views={"petal": X[1::3, 2:], "sepal": X[1::3, :2]}, name="both")
    >>> new = ferryml.Domain(views={"sepal": X[2::3, :2]})
    >>> few = np.where(y[2::3] < 2, y[2::3], np.nan)  # no label of the third class is known
    >>> model = ferryml.Place().fit(new, few, sources=[old, both])
    >>> model.score(new, y[2::3]) > 0.5
    True
    """

    _method = 'place'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('name', 'name', 'auto'),
        ('neighbours', 'neighbours', 10),
        ('prior', 'prior', ''),
        ('most', 'most', 20000),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 name: Literal['auto', 'always'] = 'auto', neighbours: int = 10, prior: str = '',
                 most: int = 20000,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.name = name
        self.neighbours = neighbours
        self.prior = prior
        self.most = most
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class RandomCodebook(FerryRater):
    """Mindtl with random numbers as the weights of its sources.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    use : int, default 0
        Sources used, the first of the task; 0: all. Values: 0 .. 1000.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.RandomCodebook().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'random-codebook'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('use', 'use', 0),
    )

    def __init__(self, *,
                 use: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.use = use
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class RandomCodebookPaper(FerryRater):
    """Mindtl-paper with random numbers as codebooks.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    k : int, default 10
        Groups of users; 0: a tenth of a source's users. Values: 0 .. 1000.
    l : int, default 10
        Groups of items; 0: a tenth of a source's items. Values: 0 .. 1000.
    extract : str, default 'ionmtf'
        How the groups of a source are found. Values: ionmtf | onmtf | dc-onmtf | kmeans.
    update : str, default 'paper'
        Updates of ionmtf: as published, or towards orthogonal columns. Values: paper | orth.
    sweeps : int, default 60
        Sweeps of ionmtf and onmtf. Values: 0 .. 1e+06.
    polish : int, default 20
        Most sweeps of two-way k-means after it. Values: 0 .. 1e+06.
    restarts : int, default 3
        Starts of an extraction; the best is kept. Values: 1 .. 1e+06.
    beta : float, default 5.0
        Ratings that draw a block's mean to its row and column. Values: 0 .. 1e+09.
    most : int, default 400
        Users and items of a source, those with most ratings; 0: all. Values: 0 .. 1e+09.
    order : str, default 'task'
        Sources as the task has them, or by the error of each alone on ratings held out. Values: task | nearest.
    use : int, default 0
        Sources used, the first in that order; 0: all. Values: 0 .. 1000.
    starts : int, default 1
        Starts over the target, all but the first random; the best is kept. Values: 1 .. 1e+06.
    iters : int, default 20
        Sweeps over the target. Values: 1 .. 1e+06.
    lambda_ : str, default 'simplex'
        Weights of the sources. Values: simplex | sgd | ls.
    theta : float, default 0.05
        Learning rate of lambda: sgd. Values: 1e-09 .. 1.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.RandomCodebookPaper().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'random-codebook-paper'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('k', 'k', 10),
        ('l', 'l', 10),
        ('extract', 'extract', 'ionmtf'),
        ('update', 'update', 'paper'),
        ('sweeps', 'sweeps', 60),
        ('polish', 'polish', 20),
        ('restarts', 'restarts', 3),
        ('beta', 'beta', 5.0),
        ('most', 'most', 400),
        ('order', 'order', 'task'),
        ('use', 'use', 0),
        ('starts', 'starts', 1),
        ('iters', 'iters', 20),
        ('lambda_', 'lambda', 'simplex'),
        ('theta', 'theta', 0.05),
    )

    def __init__(self, *,
                 k: int = 10, l: int = 10, extract: Literal['ionmtf', 'onmtf', 'dc-onmtf', 'kmeans'] = 'ionmtf',
                 update: Literal['paper', 'orth'] = 'paper', sweeps: int = 60, polish: int = 20,
                 restarts: int = 3, beta: float = 5.0, most: int = 400,
                 order: Literal['task', 'nearest'] = 'task', use: int = 0, starts: int = 1, iters: int = 20,
                 lambda_: Literal['simplex', 'sgd', 'ls'] = 'simplex', theta: float = 0.05,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.l = l
        self.extract = extract
        self.update = update
        self.sweeps = sweeps
        self.polish = polish
        self.restarts = restarts
        self.beta = beta
        self.most = most
        self.order = order
        self.use = use
        self.starts = starts
        self.iters = iters
        self.lambda_ = lambda_
        self.theta = theta
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class RankSVM(FerryClassifier):
    """Linear scores that put an instance's labels before the others.

    Needs a view of the target.

    Parameters
    ----------
    center : str, default 'none'
        Take off the mean of the instances learned from, and the target's. Values: none | per-domain.
    C : float, default 1.0
        Cost of a label that comes after one it should precede. Values: above 0 .. 1e+09.
    epochs : int, default 100
        Most passes over the instances. Values: 1 .. 1e+09.
    rank_tol : float, default 0.0001
        Stop at a pass that finds the mean loss of an instance within about this of the least. Values: 0 .. 1.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Elisseeff and Weston, A Kernel Method for Multi-Labelled Classification, NIPS 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> model = ferryml.RankSVM().fit(X[1::4], sets[1::4])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'ranksvm'
    _goals = ('multilabel',)
    _multilabel = True
    _options = (
        ('center', 'center', 'none'),
        ('C', 'C', 1.0),
        ('epochs', 'epochs', 100),
        ('rank_tol', 'rank_tol', 0.0001),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 center: Literal['none', 'per-domain'] = 'none', C: float = 1.0, epochs: int = 100,
                 rank_tol: float = 0.0001, train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.center = center
        self.C = C
        self.epochs = epochs
        self.rank_tol = rank_tol
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class RatingMean(FerryRater):
    """The mean rating of all, of the user or of the item.

    Needs ratings of every domain.

    Parameters
    ----------
    by : str, default 'global'
        The mean of all ratings, of the user's or of the item's. Values: global | user | item.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> model = ferryml.RatingMean().fit(pairs[rows], stars[rows])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'rating-mean'
    _goals = ('rate',)
    _options = (
        ('by', 'by', 'global'),
    )

    def __init__(self, *,
                 by: Literal['global', 'user', 'item'] = 'global', sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.by = by
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Residual(FerryClassifier):
    """Tables with common columns: the source's answer and what the target adds to it.

    Needs source labels, a view of the target.

    Parameters
    ----------
    pooled : bool, default True
        Also learn from the rows of both together: most of the time. Values: yes | no.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.Residual().fit(X[1::4], y[1::4], sources=[old])
    >>> model.score(X[3::4], y[3::4]) > 0.6
    True
    """

    _method = 'residual'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('pooled', 'pooled', True),
    )

    def __init__(self, *,
                 pooled: bool = True, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.pooled = pooled
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ResidualRegressor(FerryRegressor):
    """Tables with common columns: the source's answer and what the target adds to it.

    Needs source labels, a view of the target.

    Parameters
    ----------
    pooled : bool, default True
        Also learn from the rows of both together: most of the time. Values: yes | no.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> X, width = X[:, :3], X[:, 3]
    >>> old = ferryml.Source(X[::2], width[::2], name="old", columns="shared")
    >>> model = ferryml.ResidualRegressor().fit(X[1::4], width[1::4], sources=[old])
    >>> model.score(X[3::4], width[3::4]) > 0.5
    True
    """

    _method = 'residual'
    _goals = ('regress',)
    _fallback = {'regress': 'ridge'}
    _options = (
        ('pooled', 'pooled', True),
    )

    def __init__(self, *,
                 pooled: bool = True, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.pooled = pooled
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Ridge(_Weighted, FerryClassifier):
    """Ridge regression; classes and labels by 0/1 targets.

    Needs a view of the target.

    Parameters
    ----------
    lambda_ : float, default 0.0
        Weight of |W|^2; 0: 1, or the best of 0.1, 1 and 10 by cross-validation on the target's labels, where every
        class has five of them. Values: 0 .. 1e+12.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Hoerl and Kennard, Ridge Regression, Technometrics 1970.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ferryml.Ridge().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.8
    True
    """

    _method = 'ridge'
    _goals = ('classify', 'multilabel')
    _multilabel = True
    _options = (
        ('lambda_', 'lambda', 0.0),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 lambda_: float = 0.0, train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.lambda_ = lambda_
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class RidgeRegressor(_Weighted, FerryRegressor):
    """Ridge regression; classes and labels by 0/1 targets.

    Needs a view of the target.

    Parameters
    ----------
    lambda_ : float, default 0.0
        Weight of |W|^2; 0: 1, or the best of 0.1, 1 and 10 by cross-validation on the target's labels, where every
        class has five of them. Values: 0 .. 1e+12.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Hoerl and Kennard, Ridge Regression, Technometrics 1970.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> X, width = X[:, :3], X[:, 3]
    >>> model = ferryml.RidgeRegressor().fit(X[1::4], width[1::4])
    >>> model.score(X[3::4], width[3::4]) > 0.5
    True
    """

    _method = 'ridge'
    _goals = ('regress',)
    _options = (
        ('lambda_', 'lambda', 0.0),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 lambda_: float = 0.0, train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.lambda_ = lambda_
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SemiGBDT(_Proba, FerryClassifier):
    """Boosted trees that label what they are sure of and learn again.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    trees : int, default 100
        Iterations, at most. Values: 1 .. 1e+06.
    depth : int, default 3
        Splits from root to leaf. Values: 1 .. 30.
    rate : float, default 0.1
        Nu: how much of each step is taken. Values: 1e-06 .. 1.
    min_leaf : int, default 3
        Instances in a leaf, at least. Values: 1 .. 1e+09.
    reg : float, default -1.0
        Added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers. Values: -1 .. 1e+09.
    bins : int, default 0
        Thresholds per feature, by histograms: for large data; 0: all. Values: 0 .. 65536.
    rounds : int, default 5
        Times that instances get labels. Values: 1 .. 1e+06.
    share : float, default 0.1
        Of the instances without a label that get one each time. Values: 1e-09 .. 1.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Zhu, Semi-Supervised Learning Literature Survey, University of Wisconsin 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.SemiGBDT().fit(X, few)
    >>> model.score(X, y) > 0.6
    True
    """

    _method = 'semi-gbdt'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('trees', 'trees', 100),
        ('depth', 'depth', 3),
        ('rate', 'rate', 0.1),
        ('min_leaf', 'min_leaf', 3),
        ('reg', 'reg', -1.0),
        ('bins', 'bins', 0),
        ('rounds', 'rounds', 5),
        ('share', 'share', 0.1),
        ('train', 'train', 'auto'),
    )

    def __init__(self, *,
                 trees: int = 100, depth: int = 3, rate: float = 0.1, min_leaf: int = 3, reg: float = -1.0,
                 bins: int = 0, rounds: int = 5, share: float = 0.1,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto', sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.trees = trees
        self.depth = depth
        self.rate = rate
        self.min_leaf = min_leaf
        self.reg = reg
        self.bins = bins
        self.rounds = rounds
        self.share = share
        self.train = train
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SemiSVM(FerryClassifier):
    """Linear support vector machine that labels what it is sure of and learns again.

    Needs some target labels that may be seen, a view of the target.

    Parameters
    ----------
    C : float, default 1.0
        Cost of errors against small weights. Values: 1e-09 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    balanced : bool, default False
        Weigh classes by n / (k n_c). Values: yes | no.
    rounds : int, default 5
        Times that instances get labels. Values: 1 .. 1e+06.
    share : float, default 0.1
        Of the instances without a label that get one each time. Values: 1e-09 .. 1.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Zhu, Semi-Supervised Learning Literature Survey, University of Wisconsin 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.SemiSVM().fit(X, few)
    >>> model.score(X, y) > 0.6
    True
    """

    _method = 'semi-svm'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('C', 'C', 1.0),
        ('eps', 'eps', 0.01),
        ('balanced', 'balanced', False),
        ('rounds', 'rounds', 5),
        ('share', 'share', 0.1),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 1.0, eps: float = 0.01, balanced: bool = False, rounds: int = 5, share: float = 0.1,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.balanced = balanced
        self.rounds = rounds
        self.share = share
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SGC(_Proba, FerryClassifier):
    """Logistic regression on features that are smoothed over the target's graphs.

    Needs some target labels that may be seen, a view of the target, a graph of the target.

    Parameters
    ----------
    C : float, default 0.0
        Cost of errors against small weights; 0: 10, or the best of 1, 10 and 100 by cross-validation on the
        target's labels, where every class has five of them. Values: 0 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    steps : int, default 2
        Of smoothing: how far away neighbours count. Values: 1 .. 100.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Wu et al., Simplifying Graph Convolutional Networks, ICML 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> from sklearn.neighbors import kneighbors_graph
    >>> flowers = ferryml.Domain(X, graphs={"near": kneighbors_graph(X, 5)})
    >>> few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known
    >>> model = ferryml.SGC().fit(flowers, few)
    >>> model.score(flowers, y) > 0.6
    True
    """

    _method = 'sgc'
    _goals = ('classify',)
    _multilabel = False
    _options = (
        ('C', 'C', 0.0),
        ('eps', 'eps', 0.01),
        ('steps', 'steps', 2),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 0.0, eps: float = 0.01, steps: int = 2,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.steps = steps
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ShuffledCodebook(FerryRater):
    """Mindtl with the ratings of its sources shuffled.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    use : int, default 0
        Sources used, the first of the task; 0: all. Values: 0 .. 1000.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.ShuffledCodebook().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'shuffled-codebook'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('use', 'use', 0),
    )

    def __init__(self, *,
                 use: int = 0, sources: Sources | None = None, unlabelled: object = None,
                 random_state: Seed = None, n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.use = use
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class ShuffledCodebookPaper(FerryRater):
    """Mindtl-paper with the entries of its codebooks shuffled.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    k : int, default 10
        Groups of users; 0: a tenth of a source's users. Values: 0 .. 1000.
    l : int, default 10
        Groups of items; 0: a tenth of a source's items. Values: 0 .. 1000.
    extract : str, default 'ionmtf'
        How the groups of a source are found. Values: ionmtf | onmtf | dc-onmtf | kmeans.
    update : str, default 'paper'
        Updates of ionmtf: as published, or towards orthogonal columns. Values: paper | orth.
    sweeps : int, default 60
        Sweeps of ionmtf and onmtf. Values: 0 .. 1e+06.
    polish : int, default 20
        Most sweeps of two-way k-means after it. Values: 0 .. 1e+06.
    restarts : int, default 3
        Starts of an extraction; the best is kept. Values: 1 .. 1e+06.
    beta : float, default 5.0
        Ratings that draw a block's mean to its row and column. Values: 0 .. 1e+09.
    most : int, default 400
        Users and items of a source, those with most ratings; 0: all. Values: 0 .. 1e+09.
    order : str, default 'task'
        Sources as the task has them, or by the error of each alone on ratings held out. Values: task | nearest.
    use : int, default 0
        Sources used, the first in that order; 0: all. Values: 0 .. 1000.
    starts : int, default 1
        Starts over the target, all but the first random; the best is kept. Values: 1 .. 1e+06.
    iters : int, default 20
        Sweeps over the target. Values: 1 .. 1e+06.
    lambda_ : str, default 'simplex'
        Weights of the sources. Values: simplex | sgd | ls.
    theta : float, default 0.05
        Learning rate of lambda: sgd. Values: 1e-09 .. 1.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.ShuffledCodebookPaper().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'shuffled-codebook-paper'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('k', 'k', 10),
        ('l', 'l', 10),
        ('extract', 'extract', 'ionmtf'),
        ('update', 'update', 'paper'),
        ('sweeps', 'sweeps', 60),
        ('polish', 'polish', 20),
        ('restarts', 'restarts', 3),
        ('beta', 'beta', 5.0),
        ('most', 'most', 400),
        ('order', 'order', 'task'),
        ('use', 'use', 0),
        ('starts', 'starts', 1),
        ('iters', 'iters', 20),
        ('lambda_', 'lambda', 'simplex'),
        ('theta', 'theta', 0.05),
    )

    def __init__(self, *,
                 k: int = 10, l: int = 10, extract: Literal['ionmtf', 'onmtf', 'dc-onmtf', 'kmeans'] = 'ionmtf',
                 update: Literal['paper', 'orth'] = 'paper', sweeps: int = 60, polish: int = 20,
                 restarts: int = 3, beta: float = 5.0, most: int = 400,
                 order: Literal['task', 'nearest'] = 'task', use: int = 0, starts: int = 1, iters: int = 20,
                 lambda_: Literal['simplex', 'sgd', 'ls'] = 'simplex', theta: float = 0.05,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.l = l
        self.extract = extract
        self.update = update
        self.sweeps = sweeps
        self.polish = polish
        self.restarts = restarts
        self.beta = beta
        self.most = most
        self.order = order
        self.use = use
        self.starts = starts
        self.iters = iters
        self.lambda_ = lambda_
        self.theta = theta
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SMLTL(FerryClassifier):
    """Label sets through few features that an elastic net picks.

    Needs a view of the target.

    Parameters
    ----------
    lambda_ : float, default 0.2
        Strength of the elastic net, as a share of what leaves no feature. Values: 0 .. 1.
    alpha : float, default 0.5
        Share of |b|_1 in it, against |b|^2 / 2. Values: 1e-06 .. 1.
    max_iter : int, default 1000
        Passes over the features. Values: 1 .. 1e+09.
    tol : float, default 1e-06
        Relative change to stop at. Values: 0 .. 1.
    C : float, default 1.0
        Cost of a label that comes after one it should precede. Values: above 0 .. 1e+09.
    epochs : int, default 100
        Most passes over the instances. Values: 1 .. 1e+09.
    rank_tol : float, default 0.0001
        Stop at a pass that finds the mean loss of an instance within about this of the least. Values: 0 .. 1.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Han et al., Multi-Label Transfer Learning with Sparse Representation, IEEE TCSVT 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> import numpy as np
    >>> sets = np.eye(3)[y]  # label sets as a 0/1 matrix
    >>> model = ferryml.SMLTL().fit(X[1::4], sets[1::4])
    >>> bool((model.predict(X[3::4]) == sets[3::4]).mean() > 0.6)
    True
    """

    _method = 'smltl'
    _goals = ('multilabel',)
    _multilabel = True
    _options = (
        ('lambda_', 'lambda', 0.2),
        ('alpha', 'alpha', 0.5),
        ('max_iter', 'max_iter', 1000),
        ('tol', 'tol', 1e-06),
        ('C', 'C', 1.0),
        ('epochs', 'epochs', 100),
        ('rank_tol', 'rank_tol', 0.0001),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 lambda_: float = 0.2, alpha: float = 0.5, max_iter: int = 1000, tol: float = 1e-06,
                 C: float = 1.0, epochs: int = 100, rank_tol: float = 0.0001,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.lambda_ = lambda_
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.C = C
        self.epochs = epochs
        self.rank_tol = rank_tol
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Stack(FerryRater):
    """Mf, and what users and items that were rated together add to it.

    Needs ratings of every domain.

    Parameters
    ----------
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> model = ferryml.Stack().fit(pairs[rows], stars[rows])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'stack'
    _goals = ('rate',)
    _options = (
    )

    def __init__(self, *,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SVM(_Weighted, FerryClassifier):
    """Linear support vector machine, one against the rest; regression by SVR.

    Needs a view of the target.

    Parameters
    ----------
    C : float, default 0.0
        Cost of errors against small weights; 0: 1, or the best of 0.1, 1 and 10 by cross-validation on the
        target's labels, where every class has five of them. Values: 0 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    tube : float, default 0.1
        Regress: errors up to so many deviations of the numbers cost nothing. Values: 0 .. 1e+09.
    balanced : bool, default False
        Weigh classes by n / (k n_c). Values: yes | no.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Fan et al., LIBLINEAR: A Library for Large Linear Classification, JMLR 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ferryml.SVM().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.8
    True
    """

    _method = 'svm'
    _goals = ('classify', 'multilabel')
    _multilabel = True
    _options = (
        ('C', 'C', 0.0),
        ('eps', 'eps', 0.01),
        ('tube', 'tube', 0.1),
        ('balanced', 'balanced', False),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 0.0, eps: float = 0.01, tube: float = 0.1, balanced: bool = False,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.tube = tube
        self.balanced = balanced
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class SVMRegressor(_Weighted, FerryRegressor):
    """Linear support vector machine, one against the rest; regression by SVR.

    Needs a view of the target.

    Parameters
    ----------
    C : float, default 0.0
        Cost of errors against small weights; 0: 1, or the best of 0.1, 1 and 10 by cross-validation on the
        target's labels, where every class has five of them. Values: 0 .. 1e+09.
    eps : float, default 0.01
        Stopping tolerance. Values: 1e-12 .. 1.
    tube : float, default 0.1
        Regress: errors up to so many deviations of the numbers cost nothing. Values: 0 .. 1e+09.
    balanced : bool, default False
        Weigh classes by n / (k n_c). Values: yes | no.
    train : str, default 'auto'
        Learn from these labels; auto: the target's if it has some. Values: auto | source | target | both.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Fan et al., LIBLINEAR: A Library for Large Linear Classification, JMLR 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> X, width = X[:, :3], X[:, 3]
    >>> model = ferryml.SVMRegressor().fit(X[1::4], width[1::4])
    >>> model.score(X[3::4], width[3::4]) > 0.5
    True
    """

    _method = 'svm'
    _goals = ('regress',)
    _options = (
        ('C', 'C', 0.0),
        ('eps', 'eps', 0.01),
        ('tube', 'tube', 0.1),
        ('balanced', 'balanced', False),
        ('train', 'train', 'auto'),
        ('scale', 'scale', 'auto'),
    )

    def __init__(self, *,
                 C: float = 0.0, eps: float = 0.01, tube: float = 0.1, balanced: bool = False,
                 train: Literal['auto', 'source', 'target', 'both'] = 'auto',
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.eps = eps
        self.tube = tube
        self.balanced = balanced
        self.train = train
        self.scale = scale
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class TALMUD(FerryRater):
    """Rating patterns of all sources, hard groups, least-squares weights.

    Needs a source, ratings of every domain.

    Parameters
    ----------
    k : int, default 10
        Groups of users; 0: a tenth of a source's users. Values: 0 .. 1000.
    l : int, default 10
        Groups of items; 0: a tenth of a source's items. Values: 0 .. 1000.
    extract : str, default 'ionmtf'
        How the groups of a source are found. Values: ionmtf | onmtf | dc-onmtf | kmeans.
    update : str, default 'paper'
        Updates of ionmtf: as published, or towards orthogonal columns. Values: paper | orth.
    sweeps : int, default 60
        Sweeps of ionmtf and onmtf. Values: 0 .. 1e+06.
    polish : int, default 20
        Most sweeps of two-way k-means after it. Values: 0 .. 1e+06.
    restarts : int, default 3
        Starts of an extraction; the best is kept. Values: 1 .. 1e+06.
    beta : float, default 5.0
        Ratings that draw a block's mean to its row and column. Values: 0 .. 1e+09.
    most : int, default 400
        Users and items of a source, those with most ratings; 0: all. Values: 0 .. 1e+09.
    order : str, default 'task'
        Sources as the task has them, or by the error of each alone on ratings held out. Values: task | nearest.
    use : int, default 0
        Sources used, the first in that order; 0: all. Values: 0 .. 1000.
    starts : int, default 1
        Starts over the target, all but the first random; the best is kept. Values: 1 .. 1e+06.
    iters : int, default 20
        Sweeps over the target. Values: 1 .. 1e+06.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Moreno, Shapira, Rokach and Shani, TALMUD, CIKM 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import ferryml
    >>> pairs = np.array([(user, item) for user in range(20) for item in range(15)])
    >>> stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)
    >>> rows = np.arange(300) % 4 != 0
    >>> old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name="old")  # their users, their items
    >>> model = ferryml.TALMUD().fit(pairs[rows], stars[rows], sources=[old])
    >>> bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)
    True
    >>> [len(best) for best in model.recommend([3], n=2).values()]
    [2]
    """

    _method = 'talmud'
    _goals = ('rate',)
    _fallback = {'rate': 'mf'}
    _options = (
        ('k', 'k', 10),
        ('l', 'l', 10),
        ('extract', 'extract', 'ionmtf'),
        ('update', 'update', 'paper'),
        ('sweeps', 'sweeps', 60),
        ('polish', 'polish', 20),
        ('restarts', 'restarts', 3),
        ('beta', 'beta', 5.0),
        ('most', 'most', 400),
        ('order', 'order', 'task'),
        ('use', 'use', 0),
        ('starts', 'starts', 1),
        ('iters', 'iters', 20),
    )

    def __init__(self, *,
                 k: int = 10, l: int = 10, extract: Literal['ionmtf', 'onmtf', 'dc-onmtf', 'kmeans'] = 'ionmtf',
                 update: Literal['paper', 'orth'] = 'paper', sweeps: int = 60, polish: int = 20,
                 restarts: int = 3, beta: float = 5.0, most: int = 400,
                 order: Literal['task', 'nearest'] = 'task', use: int = 0, starts: int = 1, iters: int = 20,
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.k = k
        self.l = l
        self.extract = extract
        self.update = update
        self.sweeps = sweeps
        self.polish = polish
        self.restarts = restarts
        self.beta = beta
        self.most = most
        self.order = order
        self.use = use
        self.starts = starts
        self.iters = iters
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class Triplex(_Proba, FerryClassifier):
    """Tri-factorisation with identical, alike and distinct concepts, step by step.

    Needs source labels, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    path : str, default 'sit'
        Sources, intermediates, target; sources to target; intermediate with its labels to target. Values: sit | st
        | it.
    identical : int, default 20
        Concepts with the same words and meaning. Values: 0 .. 10000.
    alike : int, default 20
        Concepts with the same meaning in different words. Values: 0 .. 10000.
    distinct : int, default 10
        Concepts of one domain. Values: 0 .. 10000.
    warm : int, default 50
        Iterations that move the concepts alone, with the first labels as they are. Values: 0 .. 1e+09.
    iterations : int, default 40
        Of each factorisation. Values: 1 .. 1e+09.
    norm : str, default 'paper'
        Columns of F and rows of G to sum 1, or not (see ttl-paper). Values: paper | absorb | none | simplex.
    exponent : str, default 'half'
        Of the updates. Values: half | one.
    floor : float, default 0.02
        Smallest entry of the first labels. Values: 0 .. 1.
    tol : float, default 0.0
        Stop at this relative change of the objective; 0: never. Values: 0 .. 1.
    C : float, default 0.0
        Cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by cross-validation on the labels that
        train it. Values: 0 .. 1e+09.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Zhuang, Luo, Du, He, Shi, Triplex Transfer Learning: Exploiting both Shared and Distinct Concepts for Text
    Classification, WSDM 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.Triplex().fit(X[1::4], y[1::4], sources=[old])
    >>> model.score(X[3::4], y[3::4]) > 0.6
    True
    """

    _method = 'triplex'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('path', 'path', 'sit'),
        ('identical', 'identical', 20),
        ('alike', 'alike', 20),
        ('distinct', 'distinct', 10),
        ('warm', 'warm', 50),
        ('iterations', 'iterations', 40),
        ('norm', 'norm', 'paper'),
        ('exponent', 'exponent', 'half'),
        ('floor', 'floor', 0.02),
        ('tol', 'tol', 0.0),
        ('C', 'C', 0.0),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 path: Literal['sit', 'st', 'it'] = 'sit', identical: int = 20, alike: int = 20,
                 distinct: int = 10, warm: int = 50, iterations: int = 40,
                 norm: Literal['paper', 'absorb', 'none', 'simplex'] = 'paper',
                 exponent: Literal['half', 'one'] = 'half', floor: float = 0.02, tol: float = 0.0, C: float = 0.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.path = path
        self.identical = identical
        self.alike = alike
        self.distinct = distinct
        self.warm = warm
        self.iterations = iterations
        self.norm = norm
        self.exponent = exponent
        self.floor = floor
        self.tol = tol
        self.C = C
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class TTL(_Proba, FerryClassifier):
    """Transitive transfer: labels go over intermediate domains to the target.

    Needs source labels, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    C : float, default 0.0
        Cost of errors of the regressions; 0: by cross-validation. Values: 0 .. 1e+09.
    refine : str, default 'auto'
        EM from the propagated labels; auto: words always, other views if three checks hold. Values: auto | yes |
        no.
    report : bool, default True
        Report the reliability of every domain; doubles the time. Values: yes | no.
    beta : float, default 0.0
        Weight of a word in EM; 0: 6, or 1 where that is more reliable. Values: 0 .. 1e+06.
    eta : float, default 0.1
        Dirichlet pseudo-counts, as a share of all counts. Values: 1e-12 .. 1e+06.
    steps : int, default 30
        EM steps, at most. Values: 1 .. 1e+09.
    tol : float, default 0.001
        Change of a label at which EM ends. Values: 0 .. 1.
    least_weight : float, default 0.05
        Of an intermediate domain that shares features. Values: 0 .. 1.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Tan, Song, Zhong, Yang, Transitive Transfer Learning, KDD 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.TTL().fit(X[1::4], y[1::4], sources=[old])
    >>> model.score(X[3::4], y[3::4]) > 0.6
    True
    """

    _method = 'ttl'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('C', 'C', 0.0),
        ('refine', 'refine', 'auto'),
        ('report', 'report', True),
        ('beta', 'beta', 0.0),
        ('eta', 'eta', 0.1),
        ('steps', 'steps', 30),
        ('tol', 'tol', 0.001),
        ('least_weight', 'least_weight', 0.05),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 C: float = 0.0, refine: Literal['auto', 'yes', 'no'] = 'auto', report: bool = True,
                 beta: float = 0.0, eta: float = 0.1, steps: int = 30, tol: float = 0.001,
                 least_weight: float = 0.05,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.C = C
        self.refine = refine
        self.report = report
        self.beta = beta
        self.eta = eta
        self.steps = steps
        self.tol = tol
        self.least_weight = least_weight
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class TTLPaper(_Proba, FerryClassifier):
    """Transitive transfer as published: a coupled tri-factorisation.

    Needs source labels, a view of the target, features that lead from a source to the target.

    Parameters
    ----------
    p1 : int, default 20
        Feature clusters that are shared in a group. Values: 0 .. 10000.
    p2 : int, default 10
        Feature clusters of each view. Values: 0 .. 10000.
    p : str, default 'set'
        Cv: p = p1 + p2 of 10, 20, 30, 40 and 60, two thirds of it p1, by cross-validation on the labels that may
        be seen. Values: set | cv.
    folds : int, default 10
        P cv: folds. Values: 2 .. 1000.
    separated : bool, default False
        One group after the other, not all at once. Values: yes | no.
    warm : int, default 0
        Iterations that move the clusters alone, before the others. Values: 0 .. 1e+09.
    iterations : int, default 100
        Of the factorisation. Values: 0 .. 1e+09.
    loss : str, default 'squared'
        Loss. Values: squared | kl.
    norm : str, default 'paper'
        What is done to F and G after each iteration. Values: paper | absorb | none | simplex.
    exponent : str, default '0.5'
        0.5 is the published square root, 1 takes full steps. Values: 0.5 | 1.
    start : str, default 'hop'
        First labels of unlabelled instances. Values: hop | uniform | random.
    C : float, default 0.0
        Start hop: cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by cross-validation on the
        labels that train it. Values: 0 .. 1e+09.
    floor : float, default 0.02
        Smallest entry of the first labels. Values: 0 .. 1.
    weights : str, default 'equal'
        Of the views: equal, norm (1 / |X|^2) or numbers, a,b,c. Values: text.
    tol : float, default 0.0
        Stop at this relative change of the objective; 0: never. Values: 0 .. 1.
    scale : str, default 'auto'
        How features are scaled; auto: as their values ask for (docs/scaling.md). Values: auto | none | words |
        standard | roots | common | l2.
    leaks : str, default 'drop'
        Bridges of several views: instances that are also in the target. Values: drop | keep.
    bridge_labels : str, default 'use'
        Labels that intermediate domains have; hide: as if they had none. Values: use | hide.
    sources : list of Source and Bridge, or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    References
    ----------
    Tan, Song, Zhong, Yang, Transitive Transfer Learning, KDD 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")  # the same features
    >>> model = ferryml.TTLPaper().fit(X[1::4], y[1::4], sources=[old])
    >>> model.score(X[3::4], y[3::4]) > 0.6
    True
    """

    _method = 'ttl-paper'
    _goals = ('classify',)
    _multilabel = False
    _fallback = {'classify': 'logreg'}
    _options = (
        ('p1', 'p1', 20),
        ('p2', 'p2', 10),
        ('p', 'p', 'set'),
        ('folds', 'folds', 10),
        ('separated', 'separated', False),
        ('warm', 'warm', 0),
        ('iterations', 'iterations', 100),
        ('loss', 'loss', 'squared'),
        ('norm', 'norm', 'paper'),
        ('exponent', 'exponent', '0.5'),
        ('start', 'start', 'hop'),
        ('C', 'C', 0.0),
        ('floor', 'floor', 0.02),
        ('weights', 'weights', 'equal'),
        ('tol', 'tol', 0.0),
        ('scale', 'scale', 'auto'),
        ('leaks', 'leaks', 'drop'),
        ('bridge_labels', 'bridge_labels', 'use'),
    )

    def __init__(self, *,
                 p1: int = 20, p2: int = 10, p: Literal['set', 'cv'] = 'set', folds: int = 10,
                 separated: bool = False, warm: int = 0, iterations: int = 100,
                 loss: Literal['squared', 'kl'] = 'squared',
                 norm: Literal['paper', 'absorb', 'none', 'simplex'] = 'paper',
                 exponent: Literal['0.5', '1'] = '0.5', start: Literal['hop', 'uniform', 'random'] = 'hop',
                 C: float = 0.0, floor: float = 0.02, weights: str = 'equal', tol: float = 0.0,
                 scale: Literal['auto', 'none', 'words', 'standard', 'roots', 'common', 'l2'] = 'auto',
                 leaks: Literal['drop', 'keep'] = 'drop', bridge_labels: Literal['use', 'hide'] = 'use',
                 sources: Sources | None = None, unlabelled: object = None, random_state: Seed = None,
                 n_jobs: int | None = None,
                 verbose: bool = False) -> None:
        self.p1 = p1
        self.p2 = p2
        self.p = p
        self.folds = folds
        self.separated = separated
        self.warm = warm
        self.iterations = iterations
        self.loss = loss
        self.norm = norm
        self.exponent = exponent
        self.start = start
        self.C = C
        self.floor = floor
        self.weights = weights
        self.tol = tol
        self.scale = scale
        self.leaks = leaks
        self.bridge_labels = bridge_labels
        self.sources = sources
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
