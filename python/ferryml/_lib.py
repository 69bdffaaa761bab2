"""The C library from Python: loading it, contexts, errors as exceptions, log, progress and Ctrl-C.

Nothing here knows about methods. A call is made through a Context, which is one thread's; ctypes lets go of the GIL for
as long as the C code runs.
"""
import ctypes
import errno
import logging
import os
import re
import signal
import sys
import threading
import warnings
from ctypes import byref, c_char_p, c_void_p
from typing import Optional

import numpy as np

from . import _abi

log = logging.getLogger("ferryml")
log.addHandler(logging.NullHandler())


# OpenBLAS where numpy has loaded the one that the library computes with (Debian's; a wheel has its own): None: there is none to share.
_blas: Optional[ctypes.CDLL] = None
try:
    _blas = ctypes.CDLL("libopenblas.so.0", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
except OSError:
    pass
_lock, _inside, _threads = threading.Lock(), 0, 0


def _leave_blas(function, *arguments):
    """Call the library; numpy's BLAS has as many threads after it as before, once no other thread is in such a call."""
    global _inside, _threads
    if _blas is None:
        return function(*arguments)
    with _lock:
        if _inside == 0:
            _threads = _blas.openblas_get_num_threads()
        _inside += 1
    try:
        return function(*arguments)
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _blas.openblas_get_num_threads() != _threads:
                _blas.openblas_set_num_threads(_threads)


class FerryError(Exception):
    """What the library could not do; the message is its sentence. Always also a built-in exception (see below)."""


class FerryValueError(FerryError, ValueError):
    """A bad argument or option, or data that is not what it should be."""


class FerryMemoryError(FerryError, MemoryError):
    """Out of memory."""


class FerryIOError(FerryError, OSError):
    """The system could not read or write."""


class FerryFileNotFoundError(FerryIOError, FileNotFoundError):
    """There is no such file."""


class FerryNumericError(FerryError, ArithmeticError):
    """A computation broke down."""


class FerryNeedsError(FerryValueError):
    """The task lacks something that the method needs."""


class FerryCancelled(FerryError, RuntimeError):
    """The call was cancelled by something other than Ctrl-C."""


class FerryWarning(UserWarning):
    """A warning from the library."""


# What the library advises to write in a task file, and what that is in Python.
WORDS = (
    (r"if view '.*' of '(.*)' has the (\d+) features of view '.*' of '(.*)', add same_as: .* to it",
     r"if '\3' has the \2 columns of '\1', say so: Source(..., columns='shared'), or same_as='\1'"),
    (r"if a view of '(.*)' has features of '(.*)', give both the same names of features, or add same_as: .* to it",
     r"if '\2' has columns of '\1', give both data frames with the same names, or say which they are: same_as='\1'"),
    (r"\(graphs: \[\{name: links, edges: FILE\}\], or knn: 10 for one of its nearest\)",
     "(Domain(X, graphs={name: matrix}); sklearn.neighbors.kneighbors_graph(X, 10) makes one of the nearest)"),
    (r" \(ferry predict takes .*=EDGES\)", " (graphs={name: matrix} of the Domain)"),
    (r"--set\s+evaluate\.repeats=(\d+)", r"repeats=\1"),
    (r"set\s+evaluate\.repeats\s+to\s+(\d+)", r"write repeats=\1"),
    (r"\(ferry\s+explain\s+says\s+why\)", "(.skipped says why)"),
    (r": ferry table DIR --all\.", " (.table has them)."),
    (r"goal: (regress|classify|multilabel) (predicts|is|reads)", r"goal='\1' \2"),
    (r"\(labelled: (all|none)\)", r"(labelled='\1')"),
    (r"such as labelled: 20, or labelled: all for all there are", "such as labelled=20, or labelled=None for all there are"),
    (r"\(labelled: \{(.*?): (.*?)\}\)", r"(labelled={'\1': \2})"),
    (r"\(labelled: (.*?)\)", r"(labelled=\1)"),
    (r"`scale: (\w+)`", r"scale='\1'"),
)


def in_python(message):
    """A message of the library in Python's words."""
    for theirs, ours in WORDS:
        message = re.sub(theirs, ours, message)
    return message


def warn(line):
    """A FerryWarning, of the line that called ferryml, be it by way of pipelines and searches of scikit-learn or river."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("ferryml", "sklearn", "joblib", "river"):
        frame, level = frame.f_back, level + 1
    warnings.warn(line, FerryWarning, stacklevel=level)


EXCEPTIONS = {_abi.FERRY_EINVAL: FerryValueError, _abi.FERRY_EDATA: FerryValueError, _abi.FERRY_ENOMEM: FerryMemoryError,
              _abi.FERRY_EIO: FerryIOError, _abi.FERRY_ECANCELLED: FerryCancelled, _abi.FERRY_ENUMERIC: FerryNumericError,
              _abi.FERRY_ENEEDS: FerryNeedsError}
LEVELS = {_abi.FERRY_DEBUG: logging.DEBUG, _abi.FERRY_INFO: logging.INFO, _abi.FERRY_WARN: logging.WARNING}


def _places():
    """Where the library may be: named by FERRY_LIBRARY, in the package, or where the system looks."""
    if os.environ.get("FERRY_LIBRARY"):
        return [os.environ["FERRY_LIBRARY"]]
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
    name = "libferry.so.%d.%d" % _abi.VERSION
    inside = os.path.join(here, name)
    return [inside] if os.path.exists(inside) else [name]


def _surroundings():
    """What OpenMP and OpenBLAS read when they are loaded: threads that wait do not spin, and on CPUs newer than Debian's
    OpenBLAS (which takes Intel's for one of 2004 and AMD's for one without AVX-512) the kernels are named."""
    wanted = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "10"}
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            flags = f.read(10000)
            if " amx_tile" in flags or " avx512_vp2intersect" in flags:  # Sapphire Rapids, Zen 5, and later
                wanted["OPENBLAS_CORETYPE"] = "SkylakeX"
    except OSError:
        pass
    return {k: v for k, v in wanted.items() if k not in os.environ}


def _load():
    extra = _surroundings()
    os.environ.update(extra)
    try:
        lib = ctypes.CDLL(_places()[0])
    except OSError as e:
        raise ImportError(
            f"ferryml found no C library ({e}). Install the wheel, or name the file: FERRY_LIBRARY=/path/libferry.so"
        ) from None
    finally:
        for key in extra:
            del os.environ[key]
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        try:
            f = getattr(lib, name)
        except AttributeError:
            raise ImportError(f"the library {lib._name} is too old for this ferryml: it has no {name}()") from None
        f.restype, f.argtypes = result, arguments
    have = tuple(int(x) for x in lib.ferry_version().split(b".")[:2])
    if have != _abi.VERSION:
        raise ImportError("ferryml is for Ferry %d.%d, %s is %d.%d" % (*_abi.VERSION, lib._name, *have))
    return lib


lib = _load()
__version__ = lib.ferry_version().decode()


def there(path):
    """Raise FileNotFoundError where there is no such file; "file#name" is of the file."""
    path = os.fspath(path)
    mark = b"#" if isinstance(path, bytes) else "#"
    if path not in ("-", b"-") and not os.path.exists(path) and not os.path.exists(path.rpartition(mark)[0]):
        raise FerryFileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def text(value):
    """bytes or None as str or None."""
    return None if value is None else value.decode("utf-8", "replace")


def listed(at, *of):
    """What an enumeration of the library has: at(*of, 0), at(*of, 1) ... up to NULL. Pointers."""
    i = 0
    while found := at(*of, i):
        yield found
        i += 1


def new_text(address):
    """A string that the library made, freed."""
    out = ctypes.string_at(address).decode("utf-8", "replace")
    lib.ferry_string_free(address)
    return out


def words(strings):
    """A C array of texts for the length of a call. None stays NULL."""
    n = len(strings)
    out = (c_char_p * max(n, 1))()
    coded = [None if s is None else s if isinstance(s, bytes) else str(s).encode() for s in strings]
    for s in coded:
        if s is not None and b"\0" in s:
            raise ValueError(f"{s.decode()!r}: a name cannot hold a zero character")
    out[:n] = coded
    return out


DTYPES = {k: (np.dtype(k), ctypes.sizeof(k)) for k in (ctypes.c_double, ctypes.c_int32, ctypes.c_int64, ctypes.c_uint8)}


def numbers(address, n, kind=ctypes.c_double):
    """A copy of n numbers of the library's as an array; None for NULL."""
    if not address:
        return None
    dtype, size = DTYPES[kind]
    return np.frombuffer(bytearray(ctypes.string_at(address, n * size)), dtype)


def texts(pointer, n):
    """n texts of the library's; None for NULL."""
    return [text(pointer[i]) for i in range(n)] if pointer else None


_forked = False  # OpenMP's threads do not survive a fork: a child computes with one


def _after_fork():
    global _forked, _lock, _inside
    _forked, _lock, _inside = True, threading.Lock(), 0
    _local.__dict__.clear()  # contexts are of the parent's threads; what they hold is not worth freeing


os.register_at_fork(after_in_child=_after_fork)


def default_threads():
    """As many as OMP_NUM_THREADS says, which joblib's workers have set, else all cores (0)."""
    if _forked:
        return 1
    told = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(told) if told.isdigit() else 0


class Context:
    """One thread's ferry_ctx. Use context() to get it."""

    def __init__(self):
        self.handle = c_void_p()
        self._warned = []
        self._bar = None
        self._interrupted = False
        if lib.ferry_ctx_new(byref(self.handle)) != _abi.FERRY_OK:
            raise MemoryError("no memory for a context")
        engine = os.environ.get("FERRY_ENGINE")
        if engine and text(lib.ferry_ctx_get(self.handle, b"engine")) != engine:
            raise FerryError(text(lib.ferry_message(self.handle)))
        self._log = _abi.ferry_log_fn(self._on_log)
        self._progress = _abi.ferry_progress_fn(self._on_progress)
        lib.ferry_ctx_set_progress(self.handle, self._progress, None)
        self._least = self._settings = None

    def __del__(self):
        if getattr(self, "handle", None):
            lib.ferry_ctx_free(self.handle)

    # Exceptions cannot leave a callback: what it learns is kept, and raised or warned when the call is over.
    def _on_log(self, _user, level, line):
        if level == _abi.FERRY_WARN:
            self._warned.append(text(line))
        else:
            log.log(LEVELS[level], "%s", text(line))

    def _on_progress(self, _user, p):
        if self._bar is not None:
            try:
                self._show(p.contents)
            except Exception:  # a broken terminal stops no fit
                self._bar = None
        return _abi.FERRY_CANCEL if self._interrupted else _abi.FERRY_GO

    def _show(self, p):
        bar = self._bar
        bar.set_description_str(text(p.what), refresh=False)
        total = p.steps if p.steps else p.total
        bar.total = total or None
        bar.n = p.step if p.steps else p.done
        bar.update(0)

    def check(self, status):
        """Raise what a status means; then warn of what the library warned of."""
        if status != _abi.FERRY_OK:
            message = in_python(text(lib.ferry_message(self.handle)) or text(lib.ferry_status_name(status)))
            self._warned.clear()
            raise EXCEPTIONS.get(status, FerryError)(message)
        if self._warned:
            self.warn()

    def warn(self):
        """Hand what was warned of to Python."""
        lines, self._warned = self._warned, []
        for line in dict.fromkeys(lines):
            warn(in_python(line))

    def set(self, seed=None, threads=None):
        """Settings of the next call."""
        least = _abi.FERRY_DEBUG if log.isEnabledFor(logging.DEBUG) else (
            _abi.FERRY_INFO if log.isEnabledFor(logging.INFO) else _abi.FERRY_WARN)
        if least != self._least:
            lib.ferry_ctx_set_log(self.handle, self._log, least, None)
            self._least = least
        wanted = (1 if seed is None else seed, default_threads() if threads is None else threads)
        if wanted != self._settings:
            self.check(lib.ferry_ctx_set(self.handle, b"seed", b"%d" % wanted[0]))
            self.check(lib.ferry_ctx_set(self.handle, b"threads", b"%d" % wanted[1]))
            self._settings = wanted

    def call(self, function, *arguments):
        """A short call: status checked."""
        self.check(_leave_blas(function, self.handle, *arguments))

    def long(self, function, *arguments, verbose=False):
        """A call that may take long: Ctrl-C gives it up and raises KeyboardInterrupt when the library has let go, and
        with verbose a tqdm bar is shown, if tqdm is there."""
        self._interrupted = False
        before = None
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                signal.signal(signal.SIGINT, self._on_signal)
            else:
                before = None
        self._bar = _tqdm() if verbose else None
        try:
            status = _leave_blas(function, self.handle, *arguments)
        finally:
            if before is not None:
                signal.signal(signal.SIGINT, before)
            if self._bar is not None:
                self._bar.close()
                self._bar = None
        if self._interrupted:
            self._warned.clear()
            before(signal.SIGINT, sys._getframe())  # whatever Ctrl-C means in this program: mostly KeyboardInterrupt
        self.check(status)
        return status

    def _on_signal(self, *_):
        self._interrupted = True

    def options(self, settings):
        """A ferry_opts of a dict, for `with`; None: no settings."""
        return _Options(self, settings)


def _tqdm():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(leave=False)


class _Options:
    def __init__(self, ctx, settings):
        self.ctx, self.settings, self.handle = ctx, settings, c_void_p()

    def __enter__(self):
        if self.settings:
            self.ctx.call(lib.ferry_opts_new, byref(self.handle))
            for key, value in self.settings.items():
                self.ctx.call(lib.ferry_opts_set, self.handle, key.encode(), option_text(value).encode())
        return self.handle

    def __exit__(self, *_):
        lib.ferry_opts_free(self.handle)


def option_text(value):
    """A setting as the command takes it."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
    if isinstance(value, (list, tuple)):
        return ",".join(option_text(v) for v in value)
    return str(value)


_local = threading.local()


def context(seed=None, threads=None):
    """This thread's context, with these settings."""
    ctx = getattr(_local, "context", None)
    if ctx is None:
        ctx = _local.context = Context()
    ctx.set(seed, threads)
    return ctx


class Handle:
    """Owns a C object: freed when Python lets go of it."""

    __slots__ = ("pointer", "_free", "__weakref__")

    def __init__(self, pointer, free):
        self.pointer, self._free = pointer, free

    def __del__(self):
        if self.pointer:
            self._free(self.pointer)
            self.pointer = None
