"""Ctrl-C and the progress bar, with the command on a real (pseudo) terminal."""
import os
import pty
import select
import signal
import subprocess
import sys
import time

from harness import FERRY, Skip, ferry, main, parses, read, small_task

LONG = ["--set", "evaluate.repeats=100000"]  # never done within a test


def start(args, **more):
    return subprocess.Popen([FERRY, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


class Terminal:
    """The command with stderr on a pseudo terminal."""

    def __init__(self, args, cwd=None):
        try:
            self.master, slave = pty.openpty()
        except OSError as e:  # a container without them
            raise Skip(f"no pseudo terminals here ({e})") from e
        self.p = subprocess.Popen([FERRY, *args], stdout=subprocess.PIPE, stderr=slave, cwd=cwd)
        os.close(slave)
        self.seen = b""

    def read_until(self, done, seconds=120):
        """Read what appears until done(text) or the end."""
        end = time.monotonic() + seconds
        while not done(self.seen):
            assert time.monotonic() < end, f"not seen in {seconds} s: {self.seen[-300:]!r}"
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                chunk = os.read(self.master, 4096)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            self.seen += chunk
        return self.seen

    def finish(self):
        self.read_until(lambda text: False)
        out = self.p.stdout.read()
        self.p.stdout.close()
        os.close(self.master)
        return self.p.wait(), out


def test_progress_bar(folder):
    task = small_task(folder)
    t = Terminal(["run", task, "-o", folder + "/o", *LONG])
    text = t.read_until(lambda s: b" left" in s)
    assert b"%" in text and b"[" in text and b"\r" in text, text
    t.p.send_signal(signal.SIGINT)
    code, out = t.finish()
    assert code == 130
    assert b"\r\x1b[K" + b"ferry: interrupted" in t.seen, t.seen[-200:]  # the bar is erased first
    assert b"accuracy" in out


def wait_until_running(p, seconds=1.5):
    """Wait until the process has run for longer than a bar would stay away."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert p.poll() is None, p.communicate()
        time.sleep(0.05)


def test_quiet_has_no_bar(folder):
    task = small_task(folder)
    t = Terminal(["run", task, "--quiet", "-o", folder + "/o", *LONG])
    wait_until_running(t.p)
    t.p.send_signal(signal.SIGINT)
    code, out = t.finish()
    assert code == 130 and t.seen.startswith(b"ferry: interrupted") and b"\x1b" not in t.seen, t.seen


def test_interrupt_keeps_what_is_complete(folder):
    task = small_task(folder)
    for seconds in (1, 4, 16, 64):  # until it is beyond the first repeat, however slow the machine
        p = start(["run", task, "-o", folder + "/o", "--force", *LONG])
        wait_until_running(p, seconds)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=120)
        assert p.returncode == 130, (p.returncode, err)
        if "interrupted: the " in err:
            break
    assert err.splitlines()[-1].startswith("ferry: interrupted: the ") and folder + "/o" in err.splitlines()[-1], err
    kept = parses(read(folder, "o/results.json"))
    runs = {len(m["runs"]) for m in kept["results"] if m.get("runs")}
    assert len(runs) == 1 and f"the {runs.pop()} complete repeat" in err, err
    best = next(m["name"] for m in kept["results"] if m.get("runs"))  # the table may leave out others
    assert best in out, (best, out)


def test_interrupt_of_the_demo_leaves_no_folder(folder):
    tmp = os.path.join(folder, "tmp")
    os.mkdir(tmp)
    p = start(["demo", "bridge", "--set", "repeats=10000"], env=dict(os.environ, TMPDIR=tmp))
    wait_until_running(p)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=120)
    assert p.returncode == 130 and "ferry: interrupted " in err, (p.returncode, err)  # a busy machine may be within the first
    assert os.listdir(tmp) == []


def test_interrupt_of_a_reader(folder):
    """Nothing to keep: the first Ctrl-C ends it. The pipe has no end, so it cannot be done before."""
    pipe = os.path.join(folder, "pipe.csv")
    os.mkfifo(pipe)
    for args in (["inspect", pipe], ["convert", pipe, folder + "/out.svm"]):
        p = start(args)
        with open(pipe, "w") as f:  # waits until the command has opened it
            f.write("a,b\n1,2\n")
            f.flush()
            p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=120)
        assert (p.returncode, out, err) == (130, "", "ferry: interrupted\n")
    assert os.listdir(folder) == ["pipe.csv"]


main(sys.modules[__name__])
