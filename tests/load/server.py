"""The server under load, connections to it, and its memory."""
import http.client
import pathlib
import shutil
import subprocess
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def log_folder(folder, traces):
    """A log folder of the fixtures' runs and of the forged profiles beside the checkout, where there are any."""
    places = sorted((ROOT / "fixtures" / "runs").iterdir())
    if (traces / "forged").is_dir():
        places += sorted((traces / "forged").iterdir())
    for place in places:
        if (place / "plugins").is_dir():
            shutil.copytree(place / "plugins", folder / place.name / "plugins", copy_function=shutil.copyfile)
    # What was written this very moment may still be growing: the server waits until it does not.
    time.sleep(3)
    return folder


def memory(pid):
    """Bytes in memory of a process: all, and of them those that are no file's."""
    fields = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        fields[name] = rest.split()
    return tuple(int(fields[name][0]) * 1024 for name in ("VmRSS", "RssAnon"))


class Answer:
    """What came back; equal to another of the same status and bytes."""

    def __init__(self, status, body):
        self.status, self.size, self.sum = status, len(body), zlib.crc32(body)
        self.head = body[:2000].decode(errors="replace")

    def start(self):
        return self.head[:200]

    def __eq__(self, other):
        return (self.status, self.size, self.sum) == (other.status, other.size, other.sum)

    def __repr__(self):
        return f"{self.status}, {self.size} bytes"


class Connection:
    """A connection that is kept open, as a browser keeps it."""

    def __init__(self, port):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def bytes(self, path):
        self.http.request("GET", path)
        response = self.http.getresponse()
        return response.status, response.read()

    def get(self, path):
        return Answer(*self.bytes(path))

    def close(self):
        self.http.close()


class Server:
    """`haloscope serve FOLDER` on a free port."""

    def __init__(self, program, folder):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, "serve", folder, "--port", "0", "--no-token"], text=True, stdout=subprocess.PIPE, stderr=self.errors)
        line = self.process.stdout.readline()
        if "serving at http://" not in line:
            raise SystemExit(f"the server does not serve: {line} {self.said()}")
        self.port = int(line.rstrip("/\n").rpartition(":")[2])
        self.pid = self.process.pid

    def connect(self):
        return Connection(self.port)

    def is_alive(self):
        return self.process.poll() is None

    def said(self):
        self.errors.seek(0)
        return self.errors.read()[-2000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
