"""Starting and watching the ranks of an MPI job, and comparing what they leave, for the tests that need some."""
import array
import json
import os
import shlex
import shutil
import struct
import subprocess
import time

from harness import FERRY, Result, Skip, read, write

PLUGIN = os.path.join(os.path.dirname(FERRY), "libferry_mpi.so")
ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # containers forbid the other
    "OMPI_MCA_orte_tmpdir_base": "/tmp", "OMPI_MCA_plm_rsh_agent": "sh",  # nobody is called elsewhere
    "ASAN_OPTIONS": "detect_leaks=0",  # MPI's own
}


def mpirun():
    program = shutil.which("mpirun")
    if not program:
        raise Skip("there is no mpirun")
    if not os.path.exists(PLUGIN):
        raise Skip("Ferry was built without MPI")
    if b"Open MPI" not in subprocess.run([program, "--version"], capture_output=True).stdout:
        raise Skip("mpirun is not Open MPI's")
    return program


def start(n, *args, program=FERRY):
    return subprocess.Popen([mpirun(), "-n", str(n), program, *map(str, args)], env={**os.environ, **ENV},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(p):
    try:
        out, err = p.communicate(timeout=300)
    except subprocess.TimeoutExpired:  # ranks that wait for each other: none is left behind
        p.terminate()
        p.communicate()
        raise
    return Result(p.returncode, out, err)


def ranks(n, *args):
    r = finish(start(n, *args))
    assert r.code == 0, r
    return r


def pids(p, n):
    """The ranks' processes, by rank."""
    found = {}
    until = time.time() + 60
    while len(found) < n and p.poll() is None and time.time() < until:
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
                env = open(f"/proc/{name}/environ", "rb").read().split(b"\0")
            except OSError:
                continue
            mark = [e for e in env if e.startswith(b"OMPI_COMM_WORLD_RANK=")]
            if int(stat[1]) == p.pid and mark:
                found[int(mark[0].split(b"=")[1])] = int(name)
        time.sleep(0.01)
    return found


def numbers(path):
    return [line.split(",") for line in read(path).splitlines()]


def differ(one, many):
    """The largest relative difference of two prediction files; all that is no number is the same."""
    a, b = numbers(one), numbers(many)
    assert [len(r) for r in a] == [len(r) for r in b] and len(a) > 1
    worst = 0
    for x, y in ((x, y) for r, q in zip(a, b) for x, y in zip(r, q) if x != y):
        x, y = float(x), float(y)
        worst = max(worst, abs(x - y) / max(abs(x), abs(y), 1e-3))
    return worst


def largest(pairs, size):
    return max((abs(x - y) / max(abs(x), abs(y), size) for x, y in pairs), default=0)


def model_of(path):
    """{tensor: numbers or bytes}"""
    data = open(path, "rb").read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:end])
    del tensors["__metadata__"]
    found = {}
    for name, t in tensors.items():
        raw = data[end + t["data_offsets"][0]:end + t["data_offsets"][1]]
        found[name] = array.array("d", raw) if t["dtype"] == "F64" else raw
    return found


def models_differ(one, many):
    """Numbers relative to the largest of their tensor; all else the same, but for hashes of rows, which take a last digit for
    another row."""
    a, b = model_of(one), model_of(many)
    assert a.keys() == b.keys()
    worst = 0, ""
    for name in a:
        if isinstance(a[name], bytes):
            assert a[name] == b[name] or name.endswith("hash"), name
        else:
            assert len(a[name]) == len(b[name]), name
            worst = max(worst, (largest(zip(a[name], b[name]), max([1e-3, *map(abs, a[name])])), name))
    return worst


class Machines:
    """Two machines, as far as MPI can tell: network namespaces with a name and an address each, joined by a cable."""
    def __init__(self, folder):
        self.name = [f"ferry-{os.getpid()}-{c}" for c in "ab"]
        self.address = ["10.77.0.1", "10.77.0.2"]
        self.agent = os.path.join(folder, "agent")

    def ip(self, *words):
        p = subprocess.run(["ip", *words], capture_output=True, text=True)
        if p.returncode != 0:
            raise Skip(f"no network namespaces here: ip {' '.join(words)}: {p.stderr.strip()}")

    def enter(self, i):
        """Words before a command (a text for the shell) that start it on machine i."""
        return ["ip", "netns", "exec", self.name[i], "unshare", "--uts", "sh", "-c"]

    def __enter__(self):
        if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare", "hostname"))):
            raise Skip("only root makes network namespaces (ip, unshare, hostname)")
        try:
            for name in self.name:
                self.ip("netns", "add", name)
            self.ip("link", "add", "wire", "netns", self.name[0], "type", "veth", "peer", "name", "wire", "netns", self.name[1])
            for name, address in zip(self.name, self.address):
                self.ip("-n", name, "addr", "add", address + "/24", "dev", "wire")
                for link in ("wire", "lo"):
                    self.ip("-n", name, "link", "set", link, "up")
            p = subprocess.run([*self.enter(0), f"hostname {self.name[0]}"], capture_output=True, text=True)
            if p.returncode != 0:
                raise Skip(f"no machine with a name of its own here: {p.stderr.strip()}")
        except Skip:
            self.__exit__()
            raise
        # what mpirun calls in place of ssh: HOST COMMAND...
        there = " ".join(self.enter(1))
        write(os.path.dirname(self.agent), "agent", f'#!/bin/sh\nshift\nexec {there} "hostname {self.name[1]}; $*"\n')
        os.chmod(self.agent, 0o755)
        return self

    def __exit__(self, *_):
        for name in self.name:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def start(self, n, *args):
        """n ranks, half of them on each; messages can go over the cable alone."""
        hosts = ",".join(f"{a}:{n // 2}" for a in self.address)
        words = [mpirun(), "-n", n, "--host", hosts, "--map-by", "node", FERRY, *args]
        line = f"hostname {self.name[0]}; exec " + " ".join(shlex.quote(str(w)) for w in words)
        env = {**os.environ, **ENV, "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_plm_rsh_agent": self.agent,
               "OMPI_MCA_btl_tcp_if_include": "10.77.0.0/24", "OMPI_MCA_oob_tcp_if_include": "10.77.0.0/24"}
        return subprocess.Popen([*self.enter(0), line], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ranks(self, p, n, out):
        """{rank: (pid, network)} of the run that writes to `out`."""
        found, until = {}, time.time() + 60
        while len(found) < n and p.poll() is None and time.time() < until:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
                    env = open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
                    network = os.readlink(f"/proc/{pid}/ns/net")
                except OSError:
                    continue
                mark = [e for e in env if e.startswith(b"OMPI_COMM_WORLD_RANK=")]
                if mark and words[0] == FERRY.encode() and out.encode() in words:
                    found[int(mark[0].split(b"=")[1])] = int(pid), network
            time.sleep(0.01)
        return found
