#!/usr/bin/env python3
"""Packs files into an archive whose bytes depend on nothing but them:

    packaging/archive.py haloscope-1.2.3-x86_64-unknown-linux-gnu.tar.gz FILE... FOLDER...

A .tar.gz or a .zip with one folder of the archive's name: files at its top, folders with what is below them. Order, owners, modes
and times are fixed; times are SOURCE_DATE_EPOCH, or 1980. Prints the archive's SHA-256 as sha256sum does.
"""

import gzip
import hashlib
import io
import os
import pathlib
import sys
import tarfile
import time
import zipfile

PROGRAMS = ("haloscope", "haloscope-query")
FIRST = 315_532_800  # 1980: ZIP knows no earlier time.


def files(paths):
    """(name, path) of every file, in order."""
    found = {}
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            inside = [p for p in path.rglob("*") if p.is_file()]
            named = [(f"{path.name}/{p.relative_to(path).as_posix()}", p) for p in inside]
        elif path.is_file():
            named = [(path.name, path)]
        else:
            sys.exit(f"error: there is no {path}")
        for name, file in named:
            if found.setdefault(name, file) != file:
                sys.exit(f"error: two files are called {name}")
    return sorted(found.items())


def mode(name):
    return 0o755 if pathlib.PurePosixPath(name).name.removesuffix(".exe") in PROGRAMS else 0o644


def tar_gz(out, folder, members, when):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in members:
            data = path.read_bytes()
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size, info.mtime, info.mode = len(data), when, mode(name)
            tar.addfile(info, io.BytesIO(data))
    with open(out, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(plain.getvalue())


def zipped(out, folder, members, when):
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in members:
            info = zipfile.ZipInfo(f"{folder}/{name}", time.gmtime(when)[:6])
            info.create_system = 3
            info.external_attr = (0o100000 | mode(name)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    when = max(int(os.environ.get("SOURCE_DATE_EPOCH", FIRST)), FIRST)
    for suffix, pack in ((".tar.gz", tar_gz), (".zip", zipped)):
        if out.name.endswith(suffix):
            pack(out, out.name[: -len(suffix)], files(sys.argv[2:]), when)
            break
    else:
        sys.exit(f"error: {out}: .tar.gz or .zip is wanted")
    print(f"{hashlib.sha256(out.read_bytes()).hexdigest()}  {out.name}")


if __name__ == "__main__":
    main()
