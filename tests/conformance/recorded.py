"""What XProf said, kept, so that it is asked once: `fixtures/parity/xprof-VERSION/FILE.json.gz`.

A file holds records of runs by name. A record is XProf's answers about one run: {"profile": hash of the run's files, "answers":
{question: [status, number of a body]}, "bodies": [...]}. It counts only for the version of XProf that its folder names and for
files of that hash; whatever has none is asked of XProf itself. Bodies are texts, or base64 under "base64"; equal ones stand once.
"""
import base64
import gzip
import hashlib
import json
import pathlib
import re

VERSION = "2.24.2"
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "parity" / f"xprof-{VERSION}"


def profile_hash(files):
    """The hash of a run: of names and contents, unpacked. `files` are pairs of a name and bytes."""
    whole = hashlib.sha256()
    for name, content in sorted(files):
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def contents(folder):
    """Names and unpacked contents of the profiles below a folder, for `profile_hash`."""
    for path in sorted(pathlib.Path(folder).rglob("*.xplane.pb*")):
        raw = path.read_bytes()
        packed = path.suffix == ".gz"
        name = path.relative_to(folder).as_posix()
        yield (name[:-3], gzip.decompress(raw)) if packed else (name, raw)


class Record:
    """XProf's answers about one run."""

    def __init__(self, profile, kept=None):
        is_of_it = kept is not None and kept["profile"] == profile
        self.profile = profile
        self.answers, self.bodies = (kept["answers"], kept["bodies"]) if is_of_it else ({}, [])
        self.numbers = {}

    def get(self, question):
        """Status and body; None where nothing is kept of this question."""
        if question not in self.answers:
            return None
        status, number = self.answers[question]
        body = self.bodies[number]
        return status, base64.b64decode(body["base64"]) if isinstance(body, dict) else body.encode()

    def put(self, question, status, body):
        try:
            shown = body.decode()
        except UnicodeDecodeError:
            shown = {"base64": base64.b64encode(body).decode()}
        key = json.dumps(shown)
        if key not in self.numbers:
            self.numbers[key] = len(self.bodies)
            self.bodies.append(shown)
        self.answers[question] = [status, self.numbers[key]]

    def kept(self):
        return {"profile": self.profile, "answers": dict(sorted(self.answers.items())), "bodies": self.bodies}


def path_of(file):
    return FOLDER / (re.sub(r"[^A-Za-z0-9_.-]", "-", file) + ".json.gz")


def load(file):
    """What a file keeps, by run, for `Record`."""
    path = path_of(file)
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def write(file, records):
    """Writes a file: records by run. The same answers make the same bytes."""
    path = path_of(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({run: record.kept() for run, record in sorted(records.items())}, separators=(",", ":"), ensure_ascii=False)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
