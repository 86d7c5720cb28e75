#!/usr/bin/env python3
"""What a release's archive holds: manual pages that groff takes, completions that shells take and that complete, and bytes that depend
on nothing else.

    python3 tests/release/archives.py --bin target/release/haloscope

Of the shells those are asked that are installed, Bash always; groff where it is installed.
"""

import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACK = ROOT / "packaging/archive.py"

failures = []


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what)
    if not holds:
        failures.append(what)


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, **more)


def pages(binary, folder):
    done = run(binary, "man", folder)
    found = sorted(folder.glob("*.1"))
    check(done.returncode == 0 and len(found) > 40, f"{len(found)} manual pages {done.stderr}")
    if not shutil.which("groff"):
        print("skipped: groff is not installed")
        return
    said = [f"{page.name}: {run('groff', '-man', '-Tutf8', '-ww', '-z', page).stderr}" for page in found]
    said = [line for line in said if not line.endswith(": ")]
    check(not said, f"groff has nothing against them {said[:3]}")
    text = run("groff", "-man", "-Tascii", "-P-cbou", folder / "haloscope-diagnose.1").stdout
    check("--brief" in text and "haloscope diagnose" in text, "the page of diagnose reads as its help")


# What a shell completes `haloscope diag` to, and which shells can be asked to check a script.
BASH = r"""
source "$1"
COMP_WORDS=(haloscope diag) COMP_CWORD=1
_haloscope haloscope diag haloscope
printf '%s\n' "${COMPREPLY[@]}"
COMP_WORDS=(haloscope ops --form) COMP_CWORD=2
_haloscope haloscope --form ops
printf '%s\n' "${COMPREPLY[@]}"
"""


def completions(binary, folder):
    folder.mkdir()
    for shell in ("bash", "zsh", "fish", "powershell"):
        done = run(binary, "completions", shell)
        check(done.returncode == 0 and "critical-path" in done.stdout, f"{shell}: completions {done.stderr}")
        (folder / f"haloscope.{shell}").write_text(done.stdout)
    done = run("bash", "--norc", "-c", BASH, "bash", folder / "haloscope.bash")
    check(done.stdout.split() == ["diagnose", "--format"], f"bash completes commands and flags: {done.stdout.split()} {done.stderr[:300]}")
    asked = {
        "zsh": ["zsh", "-f", "-n", folder / "haloscope.zsh"],
        "fish": ["fish", "--no-execute", folder / "haloscope.fish"],
        "pwsh": ["pwsh", "-NoProfile", "-File", folder / "haloscope.powershell"],
    }
    for shell, command in asked.items():
        if shutil.which(shell):
            done = run(*command)
            check(done.returncode == 0, f"{shell} takes its completions {done.stderr[:300]}")
        else:
            print(f"skipped: {shell} is not installed")


def archives(binary, texts):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        programs = [folder / "haloscope", folder / "haloscope-query"]
        inputs = [*programs, *texts, ROOT / "LICENSE"]
        for program in programs:
            # A debugger's megabytes are of no use here.
            program.write_bytes(binary.read_bytes()[:1_000_000])
            program.chmod(0o700)
        for ending in (".tar.gz", ".zip"):
            sums = set()
            for attempt in range(2):
                path = folder / str(attempt) / f"haloscope-1.2.3-a-target{ending}"
                path.parent.mkdir(exist_ok=True)
                random.shuffle(inputs)
                os.utime(folder / "haloscope", (attempt, attempt * 1000))
                done = run(sys.executable, PACK, path, *inputs, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
                check(done.returncode == 0 and done.stdout.endswith(f"  {path.name}\n"), f"{ending}: {done.stdout.strip()} {done.stderr}")
                sums.add(path.read_bytes())
            check(len(sums) == 1, f"{ending}: the same bytes whatever the order and the times")
            if ending == ".zip":
                with zipfile.ZipFile(path) as archive:
                    modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
            else:
                with tarfile.open(path) as archive:
                    modes = {info.name: info.mode for info in archive}
                    check({(info.uid, info.gid, info.mtime) for info in archive} == {(0, 0, 1_700_000_000)}, "owners and times are fixed")
            top = "haloscope-1.2.3-a-target"
            can_run = sorted(name for name, mode in modes.items() if mode == 0o755)
            check(can_run == [f"{top}/haloscope", f"{top}/haloscope-query"], f"{ending}: the programs can be run, texts cannot: {can_run}")
            check(modes.get(f"{top}/LICENSE") == 0o644, f"{ending}: the licence is in it")
            check(f"{top}/man/haloscope.1" in modes and f"{top}/completions/haloscope.fish" in modes, f"{ending}: pages and completions are in it")
        absent = run(sys.executable, PACK, folder / "a.tar.gz", folder / "absent")
        check(absent.returncode != 0 and not (folder / "a.tar.gz").exists(), "a file that is absent is an error")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="target/release/haloscope", type=pathlib.Path)
    binary = parser.parse_args().bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pages(binary, folder / "man")
        completions(binary, folder / "completions")
        archives(binary, [folder / "man", folder / "completions"])
    print(f"\n{len(failures)} checks failed" if failures else "\nall checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
