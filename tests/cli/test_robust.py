"""What strangers' files and a poor machine do to the command: nothing but one line."""
import fcntl
import glob
import gzip
import os
import pty
import resource
import socket
import stat
import struct
import subprocess
import sys
import zlib

from harness import FERRY, TOP, Skip, can_preload, ferry, main, refused, small_task, write

SEEDS = os.path.join(TOP, "tests", "fuzz", "seeds", "mat73")
SANITIZED = b"__asan_init" in open(FERRY, "rb").read()


# ---- MAT 7.3 is read by a program of its own ----

def test_mat73_is_read(folder):
    r = ferry("inspect", os.path.join(SEEDS, "dense.mat"))
    assert "mat" in r.out, r


def test_damaged_mat73(folder):
    """These took the whole program down, or went through with exit code 0, inside libhdf5."""
    crashes = glob.glob(os.path.join(SEEDS, "crash-*.mat"))
    assert len(crashes) >= 3
    for path in crashes:
        refused("inspect", path, says=os.path.basename(path) + ": cannot be read as a MAT 7.3 file: it is damaged")


def test_mat73_without_its_program(folder):
    refused("inspect", os.path.join(SEEDS, "dense.mat"), env={"FERRY_LIBEXEC": folder},
            says="MAT 7.3 files are read by the program ferry-mat73, which is not installed")


def without_memory(library, n, *args):
    """The command, with no memory when this library asks for the n-th time."""
    return ferry(*args, code=None, env={"LD_PRELOAD": os.environ["FERRY_PRELOAD"], "FERRY_TEST_MALLOC": f"{library} {n}",
                                        "OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "10"})


def test_mat5_without_memory(folder):
    """matio gives less, or nothing, and does not say why: this was "cannot be read", or a part with exit code 0."""
    can_preload()
    for name in ("packed.mat", "two.mat"):
        path, n = os.path.join(os.path.dirname(SEEDS), "mat", name), 1
        while (r := without_memory("libmatio", n, "inspect", path)).code != 0:
            assert r.code == 1 and r.out == "" and r.err == "ferry: out of memory\n", (name, n, r)
            n += 1
        assert n > 10 and r.out == ferry("inspect", path).out, (name, n, r)


def test_mat73_without_memory(folder):
    """There the program that reads it is the one without memory; what comes is all or nothing."""
    can_preload()
    for name in ("dense.mat", "cell.mat"):
        path = os.path.join(SEEDS, name)
        whole, less = ferry("inspect", path), 0
        for n in range(1, 30):
            r = without_memory("libmatio", n, "inspect", path)
            assert r.code != 0 or r.out == whole.out, (name, n, r)
            assert r.code == 0 or r.out == "" and r.err.endswith("free memory allow\n" if r.code == 2 else "out of memory\n"), (name, n, r)
            less += r.code != 0
        assert less > 5, (name, less)


# ---- how much an input may be ----

def test_gzip_bomb(folder):
    path = os.path.join(folder, "b.csv.gz")
    with gzip.open(path, "wb") as f:
        for _ in range(300):
            f.write(b"0,0,0,0\n" * 125000)
    refused("inspect", path, says="unpacks to more than 268.4 MB: refused (--max-input allows more)")
    refused("inspect", path, "--max-input", "1000000", says="unpacks to more than 1 MB")
    refused("inspect", path, "--max-input", "much", says="expected a number of bytes")


def test_mat_bomb(folder):
    """A MAT 5 variable of 400 MB of zeros, packed by zlib in 400 kB."""
    n = 50_000_000
    body = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, n, 1) + struct.pack("<IHH", 0, 0, 0)[:0]
    body += struct.pack("<HH4s", 1, 1, b"x\0\0\0") + struct.pack("<II", 9, 8 * n)
    z = zlib.compressobj()
    packed = z.compress(struct.pack("<II", 14, len(body) + 8 * n) + body)
    for _ in range(50):
        packed += z.compress(bytes(8 * n // 50))
    packed += z.flush()
    path = os.path.join(folder, "b.mat")
    with open(path, "wb") as f:
        f.write(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed)
    refused("inspect", path, says="unpacks to more than 268.4 MB")


def test_plain_file_and_pipe(folder):
    path = write(folder, "a.csv", "x,y\n" + "1,2\n" * 1000)
    refused("inspect", path, "--max-input", "1000", says="has more than 0.001 MB: refused")
    ferry("inspect", path, "--max-input", "1M")
    r = ferry("inspect", "-", "--max-input", "1K", stdin="x,y\n" + "1,2\n" * 1000, code=2)
    assert "standard input: has more than" in r.err, r


def test_devices(folder):
    refused("inspect", "/dev/zero", says="/dev/zero: is a device, expected a file")
    path = os.path.join(folder, "sock")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)
        refused("inspect", path, says="sock: is a socket, expected a file")
    with open("/dev/zero", "rb") as zero:
        p = subprocess.run([FERRY, "inspect", "-"], stdin=zero, capture_output=True, text=True, timeout=60)
    assert p.returncode == 2 and "is a device" in p.stderr, p
    write(folder, "task.yaml", "task: t\ngoal: classify\ndomains:\n- {name: t, role: target, x: /dev/zero}\nmethods: [svm]\n")
    refused("run", os.path.join(folder, "task.yaml"), says="/dev/zero: is a device")


# ---- a terminal obeys nobody but its user ----

def on_terminal(*args, stdin=subprocess.DEVNULL):
    """What the command writes to a terminal, stdout and stderr."""
    try:
        master, slave = pty.openpty()
    except OSError as e:
        raise Skip(f"no pseudo terminals here ({e})") from e
    p = subprocess.Popen([FERRY, *args], stdout=slave, stderr=slave, stdin=stdin)
    os.close(slave)
    seen = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    p.wait()
    os.close(master)
    return seen.replace(b"\r\n", b"\n")


def test_control_characters(folder):
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    path = os.path.join(folder, "e.csv")
    with open(path, "wb") as f:
        f.write((f"id,a{evil},b,é,class\n" + "".join(f"{evil}{i},1,2,3,k{evil}\n" for i in range(9))).encode() + b"z,1,2,3,\x9bk\n")
    named = os.path.join(folder, f"n{evil}.csv")
    with open(named, "w") as f:
        f.write("x\n")
    for seen in (on_terminal("inspect", path), on_terminal("convert", path, "/dev/stdout", "--to", "csv"),
                 on_terminal("inspect", named), on_terminal(f"x{evil}"), on_terminal("inspect", f"none{evil}"),
                 on_terminal("run", path, "--set", f"k{evil}=1")):
        text = seen.decode("utf-8", "replace")
        bad = [c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or c == "\u202e"]
        assert not bad and "\ufffd" not in text, seen
    assert "é" in on_terminal("inspect", path).decode()
    # a pipe gets what the file has, but tables and messages are for people
    assert "\x1b" not in ferry("inspect", path).out
    assert "\x1b" not in ferry(f"x{evil}", code=2).err


def test_control_characters_of_a_stream(folder):
    """Labels come back in the answers of a stream, past what cleans standard output."""
    ferry("gen", "bridge", "--out", folder + "/b", "-q", "--set", "target_features=4")
    ferry("fit", folder + "/b/task.yaml", "-m", "mpa", "-o", folder + "/m.ferry", "-q")
    with open(folder + "/lines", "w") as f:
        f.write('{"id":"a","x":[1,2,3,4],"y":"c\\u009b31m\\u007f\\u202e"}\n')
    with open(folder + "/lines") as f:
        seen = on_terminal("stream", folder + "/m.ferry", "--state", folder + "/s", "-q", stdin=f).decode()
    assert '"learned":"c?' in seen and not any(127 <= ord(c) < 160 or c == "\u202e" for c in seen), seen


# ---- files that are written ----

def test_mode_is_kept(folder):
    a, b = write(folder, "a.csv", "x,y\n1,2\n"), write(folder, "b.csv", "old\n")
    for mode in (0o600, 0o640, 0o666):
        os.chmod(b, mode)
        ferry("convert", a, b)
        assert stat.S_IMODE(os.stat(b).st_mode) == mode
    assert read_bytes(b) == b"x,y\n1,2\n"


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def test_leftovers_of_killed_runs(folder):
    gone = subprocess.Popen(["true"])
    gone.wait()
    a = write(folder, "a.csv", "x,y\n1,2\n")
    dead = write(folder, f"b.csv.tmp.{gone.pid}", "half")
    alive = write(folder, f"b.csv.tmp.{os.getpid()}", "half")
    other = write(folder, f"c.csv.tmp.{gone.pid}", "not ours to judge")
    mine = write(folder, "b.csv.tmp.notes", "somebody's")
    ferry("convert", a, os.path.join(folder, "b.csv"))
    assert not os.path.exists(dead)
    assert os.path.exists(alive) and os.path.exists(other) and os.path.exists(mine)
    # folders of commands that make their own data
    dead, held, alive, mine = [os.path.join(folder, "ferry." + n) for n in
                               (f"{gone.pid}.abcdef", f"{gone.pid}.ghijkl", f"{os.getpid()}.abcdef", "backup")]
    for name in (dead, held, alive, mine):
        os.makedirs(name + "/inner")
    fd = os.open(held, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    ferry("demo", "bridge", "-q", "--set", "repeats=1", "--set", "source=20", "--set", "bridge=20", env={"TMPDIR": folder})
    os.close(fd)
    assert sorted(n for n in os.listdir(folder) if n.startswith("ferry.")) == sorted(map(os.path.basename, (held, alive, mine)))


# ---- little address space ----

def test_little_address_space(folder):
    """OpenBLAS's threads span for ever where their buffers had no room."""
    if SANITIZED:
        raise Skip("sanitizers take terabytes of address space")
    task = small_task(folder)
    ends = set()
    for megabytes in (100, 150, 200, 250, 300, 350, 500):
        for args in (["fit", "-m", "hemap", task, "-o", folder + "/m.ferry"], ["run", task, "-q", "-o", folder + "/o"],
                     ["--version"]):
            p = subprocess.run([FERRY, *args], capture_output=True, text=True, timeout=120,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20)))
            ends.add(p.returncode)
            assert p.returncode in (0, 1, 127), (megabytes, args, p)
            if p.returncode == 1:
                assert p.stderr.startswith("ferry: ") and "memory" in p.stderr, (megabytes, args, p)
    assert 0 in ends, ends


main(sys.modules[__name__])
