"""Puts a program of which only the compiled text is known among those that the forge has compiled: run by the forge's Python.

    from_text.py FORGE SPEC TEXT.gz TRIPS

SPEC and TRIPS are JSON. TRIPS has, by the name of the constant that a loop counts up to, its trips and how many are to be left: a
run of all of them would be too large to keep.
"""

import gzip
import json
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "compare"))
from renamed import written  # noqa: E402


def shortened(text, trips):
    """The text with fewer trips of its loops."""
    for name, (many, few) in trips.items():
        text, found = re.subn(rf"(%{re.escape(name)} = s32\[\]\S* constant\(){many}\)", rf"\g<1>{few})", text)
        if found != 1:
            sys.exit(f"{name}: {found} constants of {many}, expected one")
    return text


def main():
    """Writes module.txt, module.hlo.pb and meta.json where the forge looks for them."""
    forge, spec, path, trips = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4])
    sys.path.insert(0, forge)
    import compile as compiler
    from jaxlib import _hlo

    folder = Path(compiler.cache_dir(spec))
    if (folder / "meta.json").exists():
        return
    text = shortened(gzip.decompress(path.read_bytes()).decode(), trips)
    module = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    os.makedirs(folder, exist_ok=True)
    (folder / "module.txt").write_text(text)
    # An HloProto whose first field is the module.
    (folder / "module.hlo.pb").write_bytes(b"\x0a" + written(len(module)) + module)
    name = re.match(r"HloModule ([^\s,]+)", text).group(1)
    (folder / "meta.json").write_text(json.dumps(dict(spec=spec, name=name, memory={})))


if __name__ == "__main__":
    main()
