"""What else takes an address: every command that takes RUN, and captures that are written to a store."""

import os
import subprocess
import tempfile
from pathlib import Path

import stores

LOOP = Path(__file__).resolve().parents[1] / "capture/loop.py"


def commands(ask, out, name, session, env, check):
    """Each command says of an address what it says of files, or at least that it could."""
    failed = []
    folder = Path(tempfile.mkdtemp(dir=out))
    cache = tempfile.mkdtemp(dir=out)
    asked = {
        "ops": ["ops", session],
        "check": ["check", session, "--baseline", session],
        "xprof": ["xprof", "overview_page", session],
        "index": ["index", session],
        "export": ["export", session, "-o", str(folder / "run.trace.json")],
        "report": ["report", session, "-o", str(folder / "report.html")],
        "ledger": ["ledger", "add", session, "--ledger", str(folder / "runs.jsonl")],
    }
    for word, words in asked.items():
        done, _ = ask(*words, cache=cache, **env)
        # A file as small as the fixture may have nothing to index.
        fine = (0, 4) if word == "index" else (0,)
        failed += check(f"{name}: {word}", done.returncode in fine, f"{done.returncode} {done.stderr}")
    written = sorted(path.name for path in folder.iterdir())
    failed += check(f"{name}: files that were asked for", written == ["report.html", "run.trace.json", "runs.jsonl"], written)
    shown, _ = ask("cache", "show", cache=cache, **env)
    failed += check(f"{name}: the cache shows what was brought", session.split("/")[-1] in shown.stdout or "remote" in shown.stdout, shown.stdout)
    small, _ = ask("overview", session, cache=cache, HALOSCOPE_CACHE_MAX="1kB", **env)
    failed += check(f"{name}: a cache that is too small for the run answers all the same", small.returncode == 0, small.stderr)
    return failed


def captured(ask, name, url, env, check):
    """A running program's profile, written to the store: whole, never over another, and kept here where it cannot be written."""
    if name == "gs":
        print("      gs: captures are left out, the emulator does not know the requests that Google's store is written with")
        return []
    python = os.environ.get("HALOSCOPE_CAPTURE_PYTHON")
    if not python:
        print(f"      {name}: captures are left out, HALOSCOPE_CAPTURE_PYTHON names no Python with JAX")
        return []
    failed = []
    port = stores.free_port()
    own = {**os.environ, "JAX_PLATFORMS": "cpu"}
    loop = subprocess.Popen([python, LOOP, str(port)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=own, text=True)
    try:
        assert loop.stdout.readline() == "ready\n", "the loop did not start"
        to = f"{url}/captured"
        words = ["capture", f"localhost:{port}", "--duration", "500ms", "--session", "one"]
        done, _ = ask(*words, "-o", to, **env)
        session = f"{to}/plugins/profile/one"
        failed += check(f"{name}: captured into the store", done.returncode == 0 and session in done.stdout + done.stderr, done.stderr)
        there, _ = ask("steps", to, **env)
        failed += check(f"{name}: what was captured is read from there", there.returncode == 0, there.stderr)
        again, _ = ask(*words, "-o", to, **env)
        failed += check(f"{name}: nothing is written over it", again.returncode != 0 and "one" in again.stderr, f"{again.returncode} {again.stderr}")
        same, _ = ask("steps", to, **env)
        failed += check(f"{name}: it is as it was", same.returncode == 0 and same.stdout == there.stdout, same.stderr)
        lost, _ = ask(*words, "-o", to.replace(stores.BUCKET, "no-such-bucket"), **env)
        failed += check(f"{name}: what cannot be written is kept here", lost.returncode == 3 and ("xplane" in lost.stderr or "kept" in lost.stderr), lost.stderr)
    finally:
        loop.kill()
        loop.wait()
    return failed
