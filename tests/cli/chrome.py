"""A page in headless Chromium, asked through the DevTools protocol: pure Python, no packages."""
import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

from harness import Skip


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    raise Skip("no Chromium here")


class WebSocket:
    """As much of RFC 6455 as the protocol needs."""

    def __init__(self, url):
        host, path = url.split("://")[1].split("/", 1)
        name, port = host.split(":")
        self.s = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.s.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.s.recv(4096)
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        assert b" 101 " in head, head

    def take(self, n):
        while len(self.rest) < n:
            more = self.s.recv(1 << 16)
            assert more, "the browser closed the connection"
            self.rest += more
        out, self.rest = self.rest[:n], self.rest[n:]
        return out

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        n = len(data)
        size = bytes([0x80 | n]) if n < 126 else bytes([0x80 | 126]) + struct.pack(">H", n) if n < 65536 else \
            bytes([0x80 | 127]) + struct.pack(">Q", n)
        self.s.sendall(b"\x81" + size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        text = b""
        while True:
            first, second = self.take(2)
            n = second & 127
            if n == 126:
                (n,) = struct.unpack(">H", self.take(2))
            elif n == 127:
                (n,) = struct.unpack(">Q", self.take(8))
            part = self.take(n)
            if first & 15 in (0, 1):
                text += part
                if first & 128:
                    return text.decode()


class Page:
    """One page of a browser of its own. `console` has errors, warnings and exceptions."""

    def __init__(self, url, width=1100, height=900, dark=False, media=None):
        browser = find()
        self.folder = tempfile.mkdtemp(prefix="ferry-chrome-")
        self.p = subprocess.Popen([browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                   "--remote-debugging-port=0", "--user-data-dir=" + self.folder, "about:blank"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                  env={**os.environ, "TMPDIR": self.folder})  # it leaves files there
        self.console, self.n = [], 0
        try:
            self.w = WebSocket(self.address())
            self.call("Page.enable")
            self.call("Runtime.enable")
            self.call("Log.enable")
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
            self.call("Emulation.setEmulatedMedia", media=media or "",
                      features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
            self.call("Page.navigate", url=url)
            self.wait("document.readyState === 'complete' && !!document.querySelector('h1')")
        except BaseException:
            self.close()
            raise

    def address(self):
        port_file = os.path.join(self.folder, "DevToolsActivePort")
        end = time.monotonic() + 60
        while not os.path.exists(port_file) or not open(port_file).read().strip():
            assert time.monotonic() < end and self.p.poll() is None, "Chromium does not start"
            time.sleep(0.05)
        port = open(port_file).read().split("\n")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as r:
            return next(t["webSocketDebuggerUrl"] for t in json.load(r) if t["type"] == "page")

    def call(self, method, **params):
        self.n += 1
        self.w.send(json.dumps({"id": self.n, "method": method, "params": params}))
        while True:
            m = json.loads(self.w.receive())
            if m.get("method") == "Runtime.consoleAPICalled" and m["params"]["type"] in ("error", "warning"):
                self.console.append(json.dumps(m["params"]["args"]))
            if m.get("method") == "Runtime.exceptionThrown":
                self.console.append(json.dumps(m["params"]["exceptionDetails"]))
            if m.get("method") == "Log.entryAdded" and m["params"]["entry"]["level"] in ("error", "warning"):
                self.console.append(m["params"]["entry"]["text"])
            if m.get("id") == self.n:
                assert "error" not in m, m
                return m["result"]

    def eval(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in r, r
        return r["result"].get("value")

    def wait(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.eval(expression):
            assert time.monotonic() < end, f"never true: {expression}; console: {self.console}"
            time.sleep(0.05)

    def screenshot(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        r = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                      clip={"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1})
        with open(path, "wb") as f:
            f.write(base64.b64decode(r["data"]))

    def close(self):
        os.killpg(self.p.pid, signal.SIGKILL)
        self.p.wait()
        end = time.monotonic() + 20  # its helpers may write on for a moment
        while os.path.exists(self.folder) and time.monotonic() < end:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
