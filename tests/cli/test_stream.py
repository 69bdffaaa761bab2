"""ferry stream: lines in, answers out, and how it ends."""
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time

from harness import FERRY, ferry, main, predictions, read, refused, write
from stream_lines import FEATURES, lines, model

X = list(range(FEATURES))


def start(*args, **more):
    return subprocess.Popen([FERRY, "stream", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def ask(p, line):
    """Write one line and wait for its answer."""
    p.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    p.stdin.flush()
    return json.loads(p.stdout.readline())


def answers(r):
    return [json.loads(line) for line in r.out.splitlines()]


def test_a_conversation(folder):
    """Each answer comes before the next line is written."""
    p = start(model(folder), "--state", folder + "/s")
    a = ask(p, {"id": "one", "x": X})
    assert a["id"] == "one" and a["prediction"] in "abc" and a["seq"] == 1 and a["sync"] == "batch", a
    assert ask(p, {"id": "one", "y": "b"}) == {"id": "one", "learned": "b", "seq": 2, "sync": "batch"}
    a = ask(p, {"id": 2, "x": {"i": [0, 3], "v": [1, 0.5]}, "y": "new"})
    assert a["learned"] == "new" and a["new_class"] is True and a["seq"] == 3 and a["id"] == 2, a
    assert ask(p, "nonsense")["line"] == 4
    assert ask(p, {}) == {"waiting": 0, "seq": 3, "sync": "batch"}
    p.stdin.close()
    assert p.wait() == 0 and p.stdout.read() == ""
    assert "the last record is 3" in p.stderr.read()


def test_a_label_after_a_restart(folder):
    m, s = model(folder), folder + "/s"
    ferry("stream", m, "--state", s, stdin=json.dumps({"id": "late", "x": X}) + "\n")
    r = ferry("stream", m, "--state", s, stdin='{"id":"late","y":"c"}\n{"id":"late","y":"c"}\n')
    assert "goes on after record 1" in r.err, r
    first, second = answers(r)
    assert first["learned"] == "c" and first["seq"] == 2
    assert "no instance 'late' waits for a label" in second["error"] and second["line"] == 2


def test_every_sync_gives_the_same(folder):
    m = model(folder, "scale=causal")
    text = "\n".join(lines(500)) + "\n"
    outs, states = [], []
    for sync in ("always", "batch", "off"):
        outs.append(ferry("stream", m, "--state", f"{folder}/{sync}", "--sync", sync, "-q", stdin=text))
        assert outs[-1].err == ""
        assert all(a["sync"] == sync for a in answers(outs[-1]))
        with open(f"{folder}/{sync}/snapshot.ferry", "rb") as f:
            states.append(f.read())
    assert states[0] == states[1] == states[2]
    plain = [o.out.replace("always", "").replace("batch", "").replace("off", "") for o in outs]
    assert plain[0] == plain[1] == plain[2]


def test_the_snapshot_is_a_model(folder):
    m = model(folder)
    ferry("stream", m, "--state", folder + "/s", stdin="\n".join(lines(200)) + "\n")
    new = folder + "/s/snapshot.ferry"
    rows = [[0.5 * i + j for j in range(FEATURES)] for i in range(5)]
    head = ",".join(f"f{i}" for i in range(FEATURES))
    data = write(folder, "new.csv", head + "\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))
    by_predict = list(predictions(ferry("predict", new, data).out).values())
    by_stream = [a["prediction"] for a in answers(
        ferry("stream", new, "--state", folder + "/t", stdin="".join(json.dumps({"x": r}) + "\n" for r in rows)))]
    assert by_predict == by_stream


def test_a_row_without_entries_comes_first(folder):
    m = model(folder)
    r = ferry("stream", m, "--state", folder + "/s", stdin='{"id":"e","x":{"i":[],"v":[]},"y":"a"}\n' + lines(1)[0] + "\n")
    assert [a.get("error") for a in answers(r)] == [None, None], r


def test_csv_and_svmlight(folder):
    m = model(folder)
    names = [f"f{i}" for i in range(FEATURES)]
    csv = ",".join(["class", *names, "id"]) + "\n" + "a," + ",".join(map(str, X)) + ",k\n"
    svm = "a " + " ".join(f"{i + 1}:{x}" for i, x in enumerate(X)) + " # id:k\n"
    ndjson = json.dumps({"id": "k", "x": X, "y": "a"}) + "\n"
    got = [json.loads(ferry("stream", m, "--state", f"{folder}/{f}", "--format", f, stdin=t).out)
           for f, t in (("csv", csv), ("svmlight", svm), ("ndjson", ndjson))]
    scores = [g.pop("score") for g in got]  # a sparse row is summed in another order
    assert got[0] == got[1] == got[2] and got[0]["learned"] == "a", got
    assert scores[0] == scores[2] and abs(scores[1] - scores[0]) < 1e-12, scores
    r = ferry("stream", m, "--state", folder + "/bad", "--format", "csv", stdin="class,f0\n", code=2)
    assert r.out == "" and "standard input:1: the first line names 1 features, the model has 8" in r.err, r


def test_refused(folder):
    m, s = model(folder), folder + "/s"
    other = model(folder, "C=0.5", name="other.ferry")
    refused("stream", m, says="--state DIR")
    refused("stream", folder + "/none.ferry", "--state", s, says="none.ferry")
    refused("stream", m, "--state", s, "--sync", "never", says="sync")
    refused("stream", m, "--state", s, "--set", "wating=3", says="waiting")
    assert not os.path.exists(s)
    ferry("stream", m, "--state", s, stdin=json.dumps({"id": 1, "x": X}) + "\n")
    refused("stream", other, "--state", s, says="holds the stream of another model")
    with open(s + "/log", "r+b") as f:
        f.seek(20)
        f.write(b"x")
    refused("stream", m, "--state", s, says="is damaged: its header does not match its checksum")


def killed_after(m, s, n, *args):
    """A stream that was killed when it had acknowledged n lines; its log."""
    p = start(m, "--state", s, *args)
    for i in range(n):
        ask(p, {"id": i, "x": X})
    p.kill()
    p.communicate()
    with open(s + "/log", "rb") as f:
        return f.read()


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)


def test_a_damaged_log_is_refused_and_repaired(folder):
    """Wherever the damage is and however it looks, a cut between two records as well."""
    m = model(folder)
    for sync in ("always", "batch"):
        s = f"{folder}/{sync}"
        log = killed_after(m, s, 5, "--sync", sync)
        border = 56
        while border + 32 + int.from_bytes(log[border + 24:border + 28], "little") < len(log):
            border += 32 + int.from_bytes(log[border + 24:border + 28], "little")
        flipped = log[:400] + bytes([log[400] ^ 8]) + log[401:]
        for bad, says in ((flipped, "where record "), (log[:-5], "where record 5 should be"),
                          (log[:border], "ends with record 4, but record 5 was acknowledged")):
            put(s + "/log", bad)
            r = refused("stream", m, "--state", s, says=says)
            assert "ferry stream --repair" in r.err, r
        put(s + "/log", flipped)
        r = ferry("stream", m, "--state", s, "--repair")
        assert "lost records" in r.err and "records lost: 1, the last one is record 5" in r.err and r.out == "", r
        with open(s + "/log.damaged", "rb") as f:
            assert f.read() == flipped
        r = ferry("stream", m, "--state", s, stdin='{}\n{"id":4,"y":"a"}\n')
        assert [a["seq"] for a in answers(r)] == [5, 6], r
        assert "nothing to repair, the last record is 6" in ferry("stream", m, "--state", s, "--repair").err
    refused("stream", m, "--state", folder + "/none", "--repair", says="none: holds no stream")


def test_a_torn_end_is_cut(folder):
    """What was never acknowledged may be half there."""
    m, s = model(folder), folder + "/s"
    killed_after(m, s, 3)
    with open(s + "/log", "ab") as f:
        f.write(b"half of a record")
    r = ferry("stream", m, "--state", s, stdin="{}\n")
    assert "dropped 16 bytes" in r.err and "the last one is record 3" in r.err and answers(r)[0]["seq"] == 3, r


def test_leftovers_are_removed(folder):
    """What a run left that was killed while it wrote a snapshot, a log or a repair."""
    m, s = model(folder), folder + "/s"
    killed_after(m, s, 1)
    for name in ("snapshot.ferry.tmp.123", "log.new", "head.new", "log.damaged.tmp.5"):
        write(s, name, "half")
    write(s, "notes.txt", "mine")
    ferry("stream", m, "--state", s, stdin="")
    assert sorted(os.listdir(s)) == ["head", "lock", "log", "notes.txt", "snapshot.ferry"], os.listdir(s)


def test_an_output_that_does_not_block(folder):
    """A slow reader at a pipe that says EAGAIN gets every answer."""
    m, s = model(folder), folder + "/s"
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    text = "".join(json.dumps({"x": X}) + "\n" for _ in range(3000))
    p = subprocess.Popen([FERRY, "stream", m, "--state", s, "-q"], stdin=subprocess.PIPE, stdout=write_end,
                         stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    feeder = threading.Thread(target=lambda: (p.stdin.write(text), p.stdin.close()))
    feeder.start()
    time.sleep(0.3)  # the pipe fills up meanwhile
    with os.fdopen(read_end) as f:
        got = [json.loads(line)["seq"] for line in f]
    feeder.join()
    assert p.wait() == 0 and p.stderr.read() == "" and got == list(range(1, 3001)), len(got)


def test_a_signal_lets_the_answers_out(folder):
    """It comes while the reader is slow: what was acknowledged is passed on, in whole lines, before it ends."""
    m, s = model(folder), folder + "/s"
    write(folder, "in", "".join(json.dumps({"x": X}) + "\n" for _ in range(20000)))
    with open(folder + "/in") as f:
        p = subprocess.Popen([FERRY, "stream", m, "--state", s], stdin=f, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    first = p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    out, err = p.stdout.read(), p.stderr.read()
    assert p.wait() == 0, err
    got = [json.loads(line)["seq"] for line in [first, *out.split("\n")[:-1]]]
    assert out.endswith("\n") or out == ""
    assert got == list(range(1, len(got) + 1))
    kept = answers(ferry("stream", m, "--state", s, stdin="{}\n"))[0]["seq"]
    assert kept == len(got) and f"the last record is {kept}" in err, (kept, len(got), err)


def test_one_process_at_a_time(folder):
    m, s = model(folder), folder + "/s"
    p = start(m, "--state", s)
    ask(p, {})
    refused("stream", m, "--state", s, says="s: is in use by another process")
    assert ask(p, {"x": X})["seq"] == 1
    p.kill()
    p.wait()
    ferry("stream", m, "--state", s, stdin="")


def test_signals_end_it_with_a_snapshot(folder):
    m = model(folder)
    for sig, code in ((signal.SIGINT, 130), (signal.SIGTERM, 0)):
        s = f"{folder}/{sig}"
        p = start(m, "--state", s)
        ask(p, {"id": "k", "x": X})
        assert not os.path.exists(s + "/snapshot.ferry")
        p.send_signal(sig)
        assert p.wait() == code, p.returncode
        assert "the last record is 1" in p.stderr.read()
        assert os.path.getsize(s + "/log") == 56 and os.path.exists(s + "/snapshot.ferry")
        r = ferry("stream", m, "--state", s, stdin='{"id":"k","y":"a"}\n')
        assert answers(r)[0]["learned"] == "a"


def test_a_signal_while_nobody_reads(folder):
    """The pipe of the answers is full; it ends all the same, and what it kept is there."""
    m, s = model(folder), folder + "/s"
    text = "".join(json.dumps({"x": X}) + "\n" for _ in range(5000))
    write(folder, "in", text)
    with open(folder + "/in") as f:
        p = subprocess.Popen([FERRY, "stream", m, "--state", s], stdin=f, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    still, size = 0, -1
    while still < 5:  # until it has written something and writes no more
        time.sleep(0.05)
        now = os.path.getsize(s + "/log") if os.path.exists(s + "/log") else 0
        still, size = (still + 1 if now == size and now > 1000 else 0), now
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 0, err
    last = max([json.loads(line)["seq"] for line in out.split("\n")[:-1]], default=0)
    kept = answers(ferry("stream", m, "--state", s, stdin="{}\n"))[0]["seq"]
    assert last <= kept < 5000, (last, kept)


def test_a_reader_that_goes_away(folder):
    m, s = model(folder), folder + "/s"
    p = start(m, "--state", s)
    assert ask(p, {"x": X})["seq"] == 1
    p.stdout.close()
    p.stdin.write(json.dumps({"x": X}) + "\n")
    p.stdin.flush()
    assert p.wait() == 0
    p.stdin.close()
    assert answers(ferry("stream", m, "--state", s, stdin="{}\n"))[0]["seq"] == 2


def test_a_full_disk(folder):
    """The log may not grow past 4 kB: what does not fit is refused, what was acknowledged is there."""
    m, s = model(folder), folder + "/s"
    text = "".join(json.dumps({"x": X, "y": "a"}) + "\n" for _ in range(500))
    for sync in ("always", "off"):
        p = subprocess.run([FERRY, "stream", m, "--state", f"{s}-{sync}", "--sync", sync], input=text,
                           capture_output=True, text=True,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        assert p.returncode == 1 and "log: cannot write: File too large" in p.stderr, p
        said = [json.loads(line) for line in p.stdout.splitlines()]
        kept = [a["seq"] for a in said if "seq" in a]
        lost = [a for a in said if "error" in a]
        assert lost and all("not acknowledged" in a["error"] for a in lost), said
        assert [a["line"] for a in lost] == list(range(len(kept) + 1, len(said) + 1))
        r = ferry("stream", m, "--state", f"{s}-{sync}", stdin="{}\n")
        assert answers(r)[0]["seq"] == len(kept), (r, len(kept))


def test_huge_and_odd_lines(folder):
    m, s = model(folder), folder + "/s"
    good = json.dumps({"x": X}).encode()
    text = b"\n".join([good, b"", b" \t", b"x" * (65 << 20), good, b"\x00\xff", b'{"x":' + b"[" * 100000, good])
    r = ferry("stream", m, "--state", s, stdin=text, text=False)
    said = [json.loads(line) for line in r.out.splitlines()]
    assert [a.get("seq") for a in said] == [1, None, 2, None, None, 3], said
    assert [a.get("line") for a in said] == [None, 4, None, 6, 7, None], said
    assert "more than 67108864 bytes" in said[1]["error"]


def test_the_folder_stays_small(folder):
    """Twenty snapshots' worth of lines leave what one does, and replaying takes up from the last."""
    m, s = model(folder), folder + "/s"
    write(folder, "in", "\n".join(lines(2000)) + "\n" + "{}\n" * 200000)
    with open(folder + "/in") as f:
        p = subprocess.Popen([FERRY, "stream", m, "--state", s, "--set", "snapshot=100", "--set", "waiting=50"], stdin=f,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for _ in range(2000):
        assert "seq" in json.loads(p.stdout.readline())
    size = sum(os.path.getsize(os.path.join(s, f)) for f in os.listdir(s))
    p.kill()
    p.wait()
    assert size < 60000, size
    assert len(read(s, "lock")) == 0
    assert "record 2000" in ferry("stream", m, "--state", s, stdin="").err


def near(a, b):
    """Equal, numbers to 1e-9."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    return abs(a - b) < 1e-9 if isinstance(a, float) else a == b


def test_models_of_02(folder):
    """Models that 0.2 has saved go on as they did; those of a mode that is gone are refused in one sentence."""
    old = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/streams_0.2")
    with open(old + "/in.txt", encoding="utf-8") as f:
        sent = f.read()
    for name in ("mpa", "omtlmc", "hetomtl", "hetomtl-paper"):
        r = ferry("stream", f"{old}/{name}.ferry", "--state", f"{folder}/{name}", "-q", "--sync", "off", "--set", "scores=yes",
                  stdin=sent)
        with open(f"{old}/{name}.txt", encoding="utf-8") as f:
            said = [json.loads(line) for line in f]
        assert len(answers(r)) == len(said) > 50, (name, r)
        for a, b in zip(answers(r), said):
            assert near(a, b), (name, a, b)
    refused("stream", old + "/hetomtl-experts.ferry", "--state", folder + "/e",
            says="is a model of method 'hetomtl-experts', which ferry ")


main(sys.modules[__name__])
