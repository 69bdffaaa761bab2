"""fetch: against a server of our own, which also misbehaves."""
import gzip
import hashlib
import http.server
import io
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tarfile
import threading
import time

from harness import FERRY, Skip, can_preload, ferry, main, parses, refused, tree, write

CSV = b"x,y,label\n" + b"".join(b"%d,%d,%s\n" % (i, i * i, b"ab"[i % 2:i % 2 + 1]) for i in range(20000))


def archive(*names):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as t:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            t.addfile(info, io.BytesIO(name.encode()))
    return buffer.getvalue()


class Server:
    """Serves {path: bytes}; `rule` maps a path to how it misbehaves."""

    def __init__(self, files, rule=None, tls=None):
        self.stop = threading.Event()
        self.files, self.rule, self.asked = files, rule or {}, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.http.server_address[1]}"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.sent = 0
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.http.shutdown()
        self.http.server_close()

    def answer(self, h):
        part = h.headers.get("Range")
        self.asked.append((h.path, part))
        rule = self.rule.get(h.path, "")
        body = self.files.get(h.path)
        if rule == "redirect" and not h.path.endswith("/there"):
            h.send_response(302)
            h.send_header("Location", h.path + "/there")
            h.end_headers()
            return
        if rule == "loop":
            h.send_response(302)
            h.send_header("Location", h.path)
            h.end_headers()
            return
        if rule == "to-a-file":
            h.send_response(302)
            h.send_header("Location", "file:///etc/hostname")
            h.end_headers()
            return
        if rule.startswith("to "):
            h.send_response(302)
            h.send_header("Location", rule[3:])
            h.end_headers()
            return
        if rule == "endless":  # no length, no end
            h.send_response(200)
            h.end_headers()
            try:
                while self.sent < 1 << 30:
                    h.wfile.write(b"x" * 65536)
                    self.sent += 65536
            except OSError:
                pass  # hung up
            return
        if body is None:
            h.send_error(404)
            return
        begin = int(part[6:-1]) if part and rule != "no-resume" else 0
        if begin >= len(body):
            h.send_error(416)
            return
        h.send_response(206 if begin else 200)
        h.send_header("Content-Length", str(len(body) - begin))
        if begin:
            h.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        h.end_headers()
        first = sum(1 for p, _ in self.asked if p == h.path) == 1
        if rule in ("truncate", "no-resume") and first:
            h.wfile.write(body[begin:len(body) // 2])
        elif rule == "always-truncate":
            h.wfile.write(body[begin:begin + 1000])
        elif rule == "silent":
            h.wfile.write(body[begin:len(body) // 2])
            h.wfile.flush()
            self.stop.wait(20)
        else:
            h.wfile.write(body[begin:])
        h.close_connection = True


def catalog(folder, server, *lines):
    return write(folder, "catalog.txt", "# ours\nset toy a toy\nterms none\n" + f"base {server.url}/\n" + "\n".join(lines) + "\n")


def sha(b):
    return hashlib.sha256(b).hexdigest()


def fetch(folder, *more, code=0):
    return ferry("fetch", "toy", "--catalog", "catalog.txt", "-o", "data", *more, cwd=folder, code=code)


def test_list(folder):
    names = [line.split()[0] for line in ferry("fetch").out.splitlines()]
    assert "mfeat" in names and "20newsgroups" in names and names == sorted(names), names
    listed = parses(ferry("fetch", "--json").out)
    assert [d["name"] for d in listed] == names and all(d["files"] > 0 and d["terms"] for d in listed)
    with Server({}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        assert ferry("fetch", "--catalog", "catalog.txt", cwd=folder).out.startswith("toy")


def test_get_keep_and_unpack(folder):
    tar, odd = archive("one/a.txt", "one/b.txt"), gzip.compress(CSV)
    with Server({"/a.csv": CSV, "/t.tgz": tar, "/odd.gz": odd}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} sub/a.csv a.csv", f"unpack {sha(tar)} - t.tgz",
                f"gunzip {sha(CSV)} {len(CSV)} b.csv odd.gz")
        r = fetch(folder)
        assert "toy is in data/toy" in r.err and r.out == ""
        got = tree(os.path.join(folder, "data"))
        assert got == {"toy/sub/a.csv": CSV, "toy/b.csv": CSV, "toy/t.tgz": tar,
                       "toy/one/a.txt": b"one/a.txt", "toy/one/b.txt": b"one/b.txt"}, got.keys()
        before = len(s.asked)
        os.remove(os.path.join(folder, "data/toy/one/b.txt"))
        fetch(folder)
        assert len(s.asked) == before, "what is there with the right sum is not asked for again"
        assert tree(os.path.join(folder, "data")) == got
        write(folder, "data/toy/sub/a.csv", "spoiled")
        fetch(folder, "-q")
        assert len(s.asked) == before + 1 and tree(os.path.join(folder, "data")) == got


def test_mirror(folder):
    with Server({}) as empty, Server({"/toy/a.csv": CSV, "/toy/b.csv.gz": gzip.compress(CSV)}) as mirror:
        catalog(folder, empty, f"file {sha(CSV)} - a.csv x/y", f"gunzip {sha(CSV)} - b.csv")
        fetch(folder, "--mirror", mirror.url)
        fetch(folder, "--mirror", mirror.url + "/")
        assert sorted(tree(os.path.join(folder, "data"))) == ["toy/a.csv", "toy/b.csv"] and empty.asked == []


def test_resumes(folder):
    with Server({"/a.csv": CSV}, {"/a.csv": "truncate"}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        fetch(folder)
        assert s.asked == [("/a.csv", None), ("/a.csv", f"bytes={len(CSV) // 2}-")], s.asked
        assert tree(os.path.join(folder, "data")) == {"toy/a.csv": CSV}


def test_server_that_cannot_resume(folder):
    with Server({"/a.csv": CSV}, {"/a.csv": "no-resume"}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        fetch(folder)
        assert len(s.asked) == 3, "broken off, refused to resume, whole"
        assert tree(os.path.join(folder, "data")) == {"toy/a.csv": CSV}


def test_part_of_an_earlier_call(folder):
    with Server({"/a.csv": CSV}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        write(folder, "data/toy/a.csv.part", CSV[:777].decode())
        fetch(folder)
        assert s.asked == [("/a.csv", "bytes=777-")] and tree(os.path.join(folder, "data")) == {"toy/a.csv": CSV}
        os.rename(os.path.join(folder, "data/toy/a.csv"), os.path.join(folder, "data/toy/a.csv.part"))
        fetch(folder)  # all of it is there: the server has nothing more (416)
        assert tree(os.path.join(folder, "data")) == {"toy/a.csv": CSV}


def test_always_truncated(folder):
    with Server({"/a.csv": CSV}, {"/a.csv": "always-truncate"}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        r = fetch(folder, "--set", "tries=2", code=1)
        assert len(s.asked) == 2 and r.err.count("\n") == 1 and "by hand" in r.err and s.url in r.err, r
        assert tree(os.path.join(folder, "data")) == {"toy/a.csv.part": CSV[:2000]}, "kept, to be resumed"


def test_wrong_checksum(folder):
    other = CSV[:-5] + b"more\n"  # as long as the catalog says
    with Server({"/a.csv": other, "/b.csv.gz": gzip.compress(CSV + b"x")}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        r = fetch(folder, code=2)
        assert "toy/a.csv" in r.err and sha(CSV)[:8] in r.err and sha(other)[:8] in r.err, r
        assert tree(os.path.join(folder, "data")) == {}
        catalog(folder, s, f"gunzip {sha(CSV)} - b.csv b.csv.gz")
        assert "SHA-256" in fetch(folder, code=2).err
        assert tree(os.path.join(folder, "data")) == {}


def test_stops_at_the_size_of_the_catalog(folder):
    with Server({"/a.csv": CSV}, {"/b.csv": "endless", "/c.csv.gz": "endless"}) as s:
        for line in (f"file {sha(CSV)} {len(CSV) - 1} a.csv", f"file {sha(CSV)} {len(CSV)} b.csv",
                     f"gunzip {sha(CSV)} {len(CSV)} c.csv c.csv.gz"):
            catalog(folder, s, line)
            r = fetch(folder, code=2)
            assert "more comes than the " in r.err and r.err.count("\n") == 1, r
            assert tree(os.path.join(folder, "data")) == {}, "nothing is kept of a wrong file"
        assert 0 < s.sent < 64 << 20, s.sent
        assert len(s.asked) == 3, "and it is not asked for again"


def test_https_stays_https(folder):
    """A certificate that the preloaded fopen() gives for the system's: its server is trusted here alone."""
    can_preload()
    if not shutil.which("openssl"):
        raise Skip("needs openssl")
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    trusting = {"LD_PRELOAD": os.environ["FERRY_PRELOAD"], "FERRY_TEST_CA": cert}

    def get(server, env, code):
        catalog(folder, server, f"file {sha(CSV)} {len(CSV)} a.csv")
        return ferry("fetch", "toy", "--catalog", "catalog.txt", "-o", "data", "--set", "tries=1", cwd=folder, env=env, code=code)

    with Server({"/a.csv": CSV}) as plain:
        with Server({"/a.csv": CSV}, tls=(cert, key)) as good:
            get(good, trusting, 0)  # so the certificate is not why the others fail
            shutil.rmtree(os.path.join(folder, "data"))
            assert "certificate" in get(good, {}, 1).err, "a stranger's certificate"
        with Server({}, {"/a.csv": f"to {plain.url}/a.csv"}, tls=(cert, key)) as sly:
            get(sly, trusting, 1)
            assert sly.asked and plain.asked == [], plain.asked
        plain.url = plain.url.replace("http:", "https:")
        get(plain, trusting, 1)  # no TLS there: not tried without
        assert plain.asked == [] and tree(os.path.join(folder, "data")) == {}


def test_redirects(folder):
    with Server({"/a.csv/there": CSV, "/b.csv": CSV}, {"/a.csv": "redirect", "/b.csv": "loop", "/c.csv": "to-a-file"}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        fetch(folder)
        assert tree(os.path.join(folder, "data")) == {"toy/a.csv": CSV}
        for name in ("b.csv", "c.csv"):
            catalog(folder, s, f"file {sha(CSV)} {len(CSV)} {name}")
            assert f"{s.url}/{name}" in fetch(folder, "--set", "tries=1", code=1).err


def test_slow_server(folder):
    with Server({"/a.csv": CSV}, {"/a.csv": "silent"}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        r = fetch(folder, "--set", "tries=1", "--set", "patience=1", code=1)
        s.stop.set()
        assert "imeout" in r.err and len(tree(os.path.join(folder, "data"))["toy/a.csv.part"]) == len(CSV) // 2, r


def test_missing_file_and_no_network(folder):
    with Server({}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        r = fetch(folder, code=1)
        assert "404" in r.err and len(s.asked) == 1, "a file that is not there is asked for once"
    r = fetch(folder, code=1)  # the server is gone
    assert r.err.count("\n") == 1 and "by hand: get " in r.err and "put it at data/toy/a.csv" in r.err, r
    assert tree(os.path.join(folder, "data")) == {}


def test_interrupt(folder):
    with Server({"/a.csv": CSV}, {"/a.csv": "silent"}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        p = subprocess.Popen([FERRY, "fetch", "toy", "--catalog", "catalog.txt"], cwd=folder, stderr=subprocess.PIPE, text=True)
        part = os.path.join(folder, "data/toy/a.csv.part")
        deadline = time.monotonic() + 60
        while not (os.path.exists(part) and s.asked) and time.monotonic() < deadline:
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        err = p.communicate(timeout=60)[1]
        s.stop.set()
        assert p.returncode == 130, (p.returncode, err)


def test_hostile_archive(folder):
    for name in ("../out.txt", "/tmp/out.txt", "a/../../out.txt"):
        tar = archive("fine.txt", name)
        with Server({"/t.tgz": tar}) as s:
            catalog(folder, s, f"unpack {sha(tar)} - t.tgz")
            r = fetch(folder, code=2)
            assert "t.tgz" in r.err and r.err.count("\n") == 1, r
        assert not os.path.exists(os.path.join(folder, "out.txt")) and not os.path.exists("/tmp/out.txt")


def test_bad_catalogs(folder):
    good = f"{sha(CSV)} 1 a"
    for text, says in [("", "names no data set"), ("file x\n", ":1: expected set"), ("set a b\nfile 12 1 a u\n", ":2: expected a SHA-256"),
                       (f"set a b\nfile {good} ftp://h/x\n", ":2: ftp://h/x: expected an http"),
                       (f"set a b\nfile {sha(CSV)} 1 ../a http://h/x\n", ":2: ../a: expected a path inside"),
                       (f"set a b\nfile {sha(CSV)} -1 a http://h/x\n", ":2: expected a SHA-256"),
                       ("set ../a b\n", ":1: expected a name"), ("set a b\nset a c\n", ":2: the set a is here twice")]:
        write(folder, "c.txt", text)
        refused("fetch", "--catalog", "c.txt", says=says, cwd=folder)
    refused("fetch", "--catalog", "nosuch.txt", says="nosuch.txt", cwd=folder)
    refused("fetch", "mfaet", says="did you mean mfeat?", cwd=folder)
    refused("fetch", "-o", "x", says="which data set", cwd=folder)
    refused("fetch", "mfeat", "--json", says="--json", cwd=folder)
    refused("fetch", "mfeat", "--set", "tries=0", says="tries", cwd=folder)
    assert tree(folder).keys() == {"c.txt"}


def test_cannot_write(folder):
    with Server({"/a.csv": CSV}) as s:
        catalog(folder, s, f"file {sha(CSV)} {len(CSV)} a.csv")
        write(folder, "data", "a file where the folder should be")
        assert "data" in fetch(folder, code=1).err


main(sys.modules[__name__])
