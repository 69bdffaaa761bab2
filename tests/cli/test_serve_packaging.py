"""What packaging/serve ships agrees with the program: metrics of the dashboard, packages of the image, the unit."""
import json
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import TOP, Skip, ferry, read
from serve_client import ROW, Server, fit

HERE = os.path.join(TOP, "packaging", "serve")


def test_dashboard_names_metrics_that_are_there(folder):
    board = json.loads(read(HERE, "dashboard.json"))
    names = {n for p in board["panels"] for t in p["targets"] for n in re.findall(r"ferry_\w+", t["expr"])}
    with Server(fit(folder, "mpa"), "--state", folder + "/state") as s:
        s.post("/predict", {"x": ROW})
        s.post("/learn", {"x": ROW, "y": "c1"})
        text = s.get("/metrics").body.decode()
        there = set(re.findall(r"^(\w+)[{ ]", text, re.M))
        assert names and names <= there, names - there
        for line in text.splitlines():
            assert re.fullmatch(r'#.*|\w+(\{(\w+="[^"\\]*",?)*\})? [-+.e\d]+', line), line
        # histograms: cumulative, and their last class is the count
        seen = {}
        for name, labels, value in re.findall(r"^ferry_request_seconds_(bucket|count)\{(.*?)\} (\d+)$", text, re.M):
            route = re.search(r'route="(\w+)"', labels).group(1)
            assert int(value) >= seen.get(route, 0)
            seen[route] = int(value)


def test_image(folder):
    """The image is built with the packages that the project needs, does not run as root, and keeps no lists."""
    text = read(HERE, "Dockerfile").replace("\\\n", " ")
    first, last = re.split(r"^FROM ", text, flags=re.M)[1:]
    needs = {line.split()[1] for line in read(TOP, "packages.txt").splitlines() if line.startswith("build ")} - {"ca-certificates"}
    assert needs <= set(first.split()), needs - set(first.split())
    for stage in (first, last):
        assert re.match(r"debian:12-slim\b", stage)
        for run in re.findall(r"^RUN (.*apt-get.*)$", stage, re.M):
            assert "apt-get update" in run and "--no-install-recommends" in run and "rm -rf /var/lib/apt/lists" in run
    assert re.search(r"^USER ferry$", last, re.M) and "HEALTHCHECK" in last and "ADD " not in text
    words = json.loads(re.search(r"^ENTRYPOINT (.*)$", last, re.M).group(1)) + json.loads(re.search(r"^CMD (.*)$", last, re.M).group(1))
    known = ferry("help", "serve").out
    for w in words[1:]:
        assert not w.startswith("--") or w in known, w
    if shutil.which("hadolint"):
        subprocess.run(["hadolint", "--ignore", "DL3008", os.path.join(HERE, "Dockerfile")], check=True)


def test_compose(folder):
    """What the example mounts is there, and the board is where Grafana is told to look."""
    text = read(HERE, "compose.yaml")
    mounts = dict(re.findall(r'"\./([\w.]+):([^":]+)(?::ro)?"', text))
    for name in set(mounts) - {"models", "secrets"}:  # these are the user's
        assert os.path.exists(os.path.join(HERE, name)), name
    assert os.path.exists(os.path.join(HERE, re.search(r"context: ([./]+)", text).group(1), re.search(r"dockerfile: (\S+)}", text).group(1)))
    board = read(HERE, "grafana/dashboards/ferry.yaml")
    assert os.path.dirname(mounts["dashboard.json"]) in board, board
    assert "http://prometheus:9090" in read(HERE, "grafana/datasources/prometheus.yaml")
    assert mounts["secrets"] + "/prometheus.token" in read(HERE, "prometheus.yml") and "ferry:8443" in read(HERE, "prometheus.yml")


def test_unit(folder):
    text = read(HERE, "ferry-serve.service")
    for line in ("DynamicUser=yes", "ProtectSystem=strict", "Type=notify", "NoNewPrivileges=yes"):
        assert line in text.splitlines()
    known = ferry("help", "serve").out
    for option in re.findall(r"--[a-z-]+", re.search(r"^ExecStart=(.*)$", text, re.M).group(1)):
        assert option in known, option
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze to verify the unit with")
    unit = harness.write(folder, "ferry-serve.service", text.replace("/usr/bin/ferry", harness.FERRY))
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    mine = [line for line in r.stderr.splitlines() if "ferry-serve.service" in line]
    assert not mine, mine


def test_debian_package_ships_it(folder):
    """Every file of packaging/serve is in the Debian package: the unit where systemd looks, the rest as examples."""
    lists = {n: read(TOP, "debian", n).splitlines() for n in ("ferry.install", "ferry.examples")}
    assert "packaging/serve/ferry-serve.service lib/systemd/system" in lists["ferry.install"]
    there = {os.path.basename(line) for line in lists["ferry.examples"]} | {"ferry-serve.service"}
    assert there == set(os.listdir(HERE)), there ^ set(os.listdir(HERE))
    assert "--no-enable --no-start" in read(TOP, "debian", "rules")


def test_notify(folder):
    """Type=notify: the service manager is told when it is ready and when it stops."""
    import socket
    path = os.path.join(folder, "notify")
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    s.settimeout(60)
    with Server(fit(folder, "logreg"), env={"NOTIFY_SOCKET": path}) as server:
        assert s.recv(100) == b"READY=1"
        server.stop()
        assert s.recv(100) == b"STOPPING=1"


def test_signal_to_any_thread(folder):
    """The kernel gives a signal to whichever thread takes it; libraries start some before the server does."""
    import ctypes
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    number = {"x86_64": 234, "aarch64": 131}.get(os.uname().machine)
    if number is None:
        raise Skip("the number of tgkill is not known on this machine")
    model = fit(folder, "logreg")
    with Server(model) as server:
        threads = len(os.listdir(f"/proc/{server.p.pid}/task"))
    for i in range(threads):
        with Server(model) as server:
            tasks = sorted(map(int, os.listdir(f"/proc/{server.p.pid}/task")))
            for sig in (1, 15):  # SIGHUP loads again, SIGTERM ends
                assert syscall(number, server.p.pid, tasks[i % len(tasks)], sig) == 0, ctypes.get_errno()
            assert server.p.wait(120) == 0, server.read_log()
            assert "stopped" in server.read_log()


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
