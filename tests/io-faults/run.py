#!/usr/bin/env python3
"""Every call to the file system fails once: `overview`, `ops` and a server give the right answer, or an error that says what happened.

    python3 tests/io-faults/run.py --bin target/release/haloscope [--every N] [--only WORD]

A small library (shim.c, built here with `cc`, preloaded) counts the calls that the program makes on files, and lets the Nth fail: with
EIO as a broken disk does, with ENOSPC as a full one, with EMFILE as a process that has too many files open. That is done for each N,
or for each Nth with --every, of a question with an empty cache and with a filled one, and of a server that is asked a question, and
the next. Nothing may end by a panic or a signal, no answer may be another one unless its first finding names the file that it lacks,
and a server goes on. Linux with glibc; needs the
standard library alone.
"""
import argparse
import errno
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
RUN = HERE.parents[1] / "fixtures/runs/tpu-train"
ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "EMFILE": errno.EMFILE}
# Exit statuses that say what happened: bad usage, and what cannot be read or written.
SAID = (2, 3)

# What a server is asked; without a name the newest run is meant.
PATHS = ("/api/report/overview", "/api/report/ops", "/api/runs")


class Failed(Exception):
    """An answer that may not be."""


def environment(shim, cache, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FAULT_", "HALOSCOPE_"))}
    return {**kept, "LD_PRELOAD": str(shim), "HALOSCOPE_CACHE": str(cache), **{k: str(v) for k, v in more.items()}}


def meaning(text):
    """An answer without what may differ between two askings of one thing."""
    answer = json.loads(text)
    for key in ("notes", "timing"):
        answer.pop(key, None)
    return answer


def says_what_it_lacks(answer):
    """Whether an answer leads with a file that could not be read."""
    first = next(iter(answer.get("findings", [])), {})
    return first.get("id") == "file_not_whole" and "cannot read " in first.get("claim", "")


def differences(right, found, place=""):
    """Where two answers differ: the first few places."""
    if type(right) is not type(found):
        return [place]
    if isinstance(right, dict):
        keys = sorted({*right, *found})
        pairs = [(f"{place}.{key}", right.get(key), found.get(key)) for key in keys]
    elif isinstance(right, list) and len(right) == len(found):
        pairs = [(f"{place}[{at}]", *both) for at, both in enumerate(zip(right, found))]
    else:
        return [] if right == found else [place]
    return [where for at, one, other in pairs for where in differences(one, other, at)][:5]


class Command:
    """A question, asked with an empty cache or with one that has its answer."""

    def __init__(self, binary, shim, words, folder, is_warm):
        self.name = " ".join(words[:1]) + (", cached" if is_warm else "")
        self.args = [binary, *words, str(RUN), "--format", "json"]
        self.shim, self.cache, self.is_warm = shim, folder / "cache", is_warm
        self.filled = folder / "filled"
        if is_warm:
            self._ask(self.filled)
        self.calls, self.right = 0, None
        count = folder / "count"
        outcome = self._ask(self._fresh(), FAULT_COUNT=count)
        if outcome.returncode != 0:
            sys.exit(f"{self.name}: {outcome.stderr}")
        self.calls, self.right = int(count.read_text()), meaning(outcome.stdout)

    def _fresh(self):
        shutil.rmtree(self.cache, ignore_errors=True)
        if self.is_warm:
            shutil.copytree(self.filled, self.cache)
        return self.cache

    def _ask(self, cache, **faults):
        env = environment(self.shim, cache, **faults)
        return subprocess.run(self.args, env=env, capture_output=True, text=True, timeout=60)

    def fails_at(self, at, number):
        outcome = self._ask(self._fresh(), FAULT_AT=at, FAULT_ERRNO=number)
        if outcome.returncode in SAID:
            if outcome.stdout or "error: " not in outcome.stderr:
                raise Failed(f"exit status {outcome.returncode} and no error: {outcome.stderr[-300:]!r}")
            result = "refused"
        elif outcome.returncode == 0:
            answer = meaning(outcome.stdout)
            if answer != self.right and not says_what_it_lacks(answer):
                raise Failed(f"another answer: {differences(self.right, answer)} {outcome.stderr[-300:]!r}")
            result = "answered"
        else:
            raise Failed(f"exit status {outcome.returncode}: {outcome.stderr[-500:]!r}")
        # What it left in the cache does no harm to the next.
        again = self._ask(self.cache)
        if again.returncode != 0 or meaning(again.stdout) != self.right:
            raise Failed(f"the next one: exit status {again.returncode}: {again.stderr[-300:]!r}")
        return result


class Server:
    """A server in which a call fails once it listens."""

    name = "serve"

    def __init__(self, binary, shim, folder):
        self.args = [binary, "serve", str(RUN), "--port", "0", "--no-token"]
        self.shim, self.folder = shim, folder
        count = folder / "count"
        self.right = None
        self._with(FAULT_COUNT=count)
        self.calls = int(count.read_text())

    def _with(self, **faults):
        cache, armed = self.folder / "cache", self.folder / "armed"
        shutil.rmtree(cache, ignore_errors=True)
        armed.unlink(missing_ok=True)
        env = environment(self.shim, cache, FAULT_ARMED=armed, **faults)
        process = subprocess.Popen(self.args, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            line = process.stdout.readline()
            if not line.startswith("serving at "):
                raise Failed(f"it does not listen: {line!r} {process.stderr.read()[-300:]!r}")
            base = line.split()[-1].rstrip("/")
            armed.touch()
            outcomes = [self._ask(base, path) for path in PATHS]
            if self.right is None:
                self.right = [body for _, body in outcomes]
            for (status, body), right in zip(outcomes, self.right):
                if status == 200 and body != right and not says_what_it_lacks(json.loads(body)):
                    raise Failed(f"another answer: {differences(json.loads(right), json.loads(body))}")
                if status != 200 and not body.startswith("{"):
                    raise Failed(f"status {status} and no error: {body[:300]!r}")
            for path, right in zip(PATHS, self.right):
                # It strikes once: where that is here, the time after is right.
                for _ in range(2):
                    status, body = self._ask(base, path)
                    if (status, body) == (200, right):
                        break
                else:
                    raise Failed(f"after it, {path}: status {status}: {body[:300]!r}")
            process.terminate()
            said = process.communicate(timeout=30)[1]
            if process.returncode not in (0, -15, 143) or "panicked" in said:
                raise Failed(f"it ended with {process.returncode}: {said[-300:]!r}")
            return "answered" if all(status == 200 for status, _ in outcomes) else "refused"
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def _ask(base, path):
        try:
            with urllib.request.urlopen(base + path, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            raise Failed(f"{path}: {error}") from error

    def fails_at(self, at, number):
        return self._with(FAULT_AT=at, FAULT_ERRNO=number)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="let only each Nth call fail")
    parser.add_argument("--only", default="", help="only questions whose name holds this")
    given = parser.parse_args()
    binary, failures = str(given.bin.resolve()), 0
    with tempfile.TemporaryDirectory(prefix="haloscope-io-faults-") as folder:
        folder = pathlib.Path(folder)
        shim = folder / "shim.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", shim, HERE / "shim.c", "-ldl"], check=True)
        cases = [Command(binary, shim, [word], folder / f"{word}-{is_warm}", is_warm)
                 for word in ("overview", "ops") for is_warm in (False, True)
                 if (folder / f"{word}-{is_warm}").mkdir() is None and given.only in word]
        if given.only in "serve":
            (folder / "serve").mkdir()
            cases.append(Server(binary, shim, folder / "serve"))
        for case in cases:
            for name, number in ERRORS.items():
                results = []
                for at in range(1, case.calls + 1, given.every):
                    try:
                        results.append(case.fails_at(at, number))
                    except Failed as why:
                        failures += 1
                        print(f"FAIL  {case.name}: call {at} with {name}: {why}", flush=True)
                print(f"{case.name}: {name} in {len(results)} of {case.calls} calls: {results.count('answered')} answered, "
                      f"{results.count('refused')} refused", flush=True)
    sys.exit(f"{failures} failed" if failures else 0)


if __name__ == "__main__":
    main()
