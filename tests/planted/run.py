"""Plants one fault each into runs of really compiled TPU programs and asks `haloscope diagnose` for the cause.

    python3 tests/planted/run.py --bin target/release/haloscope --forge ../shared/forge [--out target/planted] [--only NAME]

A case passes where the planted cause ranks first. Its ceiling is held against what removing the fault gives: the step time of the
same run, same seed, without it. What was made stays in OUT and is used again (see tests/forging.py).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import cases

sys.path.insert(0, str(Path(__file__).parent.parent))
from forging import copy_of, make, python_of  # noqa: E402

# So many of the cases may not rank first, and a ceiling may be off by so much of what removing the fault gives.
MISSES, OFF = 1, 0.10
# On a run without a fault no cause may promise this speed-up unless `cases.CLEAN` lists it.
WORTH = 1.05


def diagnose(binary, folder):
    """The causes, ranked: id, claim, speed-up."""
    asked = [binary, "diagnose", folder, "--format", "json"]
    report = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    causes = next(table for table in report["tables"] if table["id"] == "causes")
    place = {column["id"]: i for i, column in enumerate(causes["columns"])}
    return [(row[place["id"]].replace(" ", "_"), row[place["claim"]], row[place["speedup"]]) for row in causes["rows"]]


def main():
    """Exits with 1 where too few causes are found, or a clean run is blamed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--forge", required=True, type=Path)
    parser.add_argument("--out", default=Path("target/planted"), type=Path)
    parser.add_argument("--only")
    asked = parser.parse_args()
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    python, forge = python_of(out), copy_of(asked.forge, out, cases.MODELS)

    step = {}
    failures = []
    for name, scenario in cases.BASES.items():
        folder, truth = make(python, forge, out, name, scenario)
        step[name] = truth["step_time_ms"]["mean"]
        causes = diagnose(asked.bin, folder)
        loud = [cause for cause in causes if (cause[2] or 0) >= WORTH]
        for cause in loud:
            known = cause[0] in cases.CLEAN.get(name, [])
            print(f"{'known' if known else 'FALSE'}  {name} (no fault): {cause[0]} {cause[2]:.2f}x  {cause[1]}")
            if not known:
                failures.append(f"{name}: {cause[0]} on a run without a fault")
    found = 0
    for case in cases.CASES:
        if asked.only and asked.only != case["name"]:
            continue
        folder, truth = make(python, forge, out, case["name"], {**cases.BASES[case["base"]], **case["change"]})
        gives = truth["step_time_ms"]["mean"] / step[case["base"]]
        causes = diagnose(asked.bin, folder)
        first = causes[0] if causes else ("nothing", "", None)
        is_first = first[0] in case["first"] and case["what"] in first[1]
        said = first[2] or 0.0
        is_near = abs(said / gives - 1.0) <= OFF or not case["same_shape"]
        word = "ok" if is_first and is_near else "OFF" if is_first else "MISSED"
        print(f"{word:6} {case['name']}: {first[0]} {said:.2f}x, removing the fault gives {gives:.2f}x  {first[1]}")
        found += is_first
        if not is_first:
            for other in causes[1:4]:
                print(f"       then {other[0]} {other[2] or 0:.2f}x  {other[1]}")
        elif not is_near:
            failures.append(f"{case['name']}: the ceiling {said:.2f}x is not near {gives:.2f}x")
    least = len(cases.CASES) - MISSES
    if not asked.only and found < least:
        failures.append(f"{found} of {len(cases.CASES)} planted causes rank first, expected {least}")
    print(f"{found} planted causes rank first; {len(failures)} failures")
    for failure in failures:
        print(f"  {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
