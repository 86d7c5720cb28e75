"""What `diagnose`, `compare` and `check` say of runs of which is known what is wrong.

    python3 tests/verdicts/run.py --bin target/release/haloscope --forge ../shared/forge [--out target/verdicts] [--quick] [--only WORD]
    python3 tests/verdicts/run.py --bin target/debug/haloscope --stored ../shared/traces/faults

A fault counts as found where the first cause is one of its kind's rules and names what it must. Its ceiling is held against what
removing the fault gives: the step time of the same base and seed without it. Prints first-cause accuracy, ceiling error, the smallest
fault found of each kind, false alarms, and what `compare` and `check` make of each run against its twin and of equal programs. Fails
where a bound below is left. `--stored` asks about a folder of runs with truth.json and twins instead of making any.
"""

import argparse
import json
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cases
import stored

sys.path.insert(0, str(Path(__file__).parent.parent))
from forging import copy_of, make, python_of  # noqa: E402

# At least so many first causes are right, with a ceiling within OFF of the true gain, of the faults worth SMALL or more.
RIGHT, OFF, SMALL = 0.90, 0.10, 1.02
# A cause that promises so much on a run without a fault is a false alarm, unless it is inherent.
WORTH = 1.01
# So many runs without a fault of a hundred may be blamed, for what their programs cost.
BLAMED = 0.03
# So many equal pairs of a hundred may be told apart; slower by SLOWER or more is never "unchanged", and never passes `check`.
ALARMS, SLOWER = 0.01, 1.02


def asked(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.returncode, json.loads(done.stdout)


def causes_of(binary, folder):
    """The causes, ranked: rule, claim, speed-up, and the variant where the rule has several sorts of findings."""
    report = asked(binary, "diagnose", folder, "--format", "json")[1]
    table = next(table for table in report["tables"] if table["id"] == "causes")
    claim = [column["id"] for column in table["columns"]].index("claim")
    causes = {row[claim] for row in table["rows"]}
    found = [finding for finding in report["findings"] if finding["claim"] in causes]
    return [(one["id"], one["claim"], one["speedup"], one.get("variant")) for one in found]


def blamed(binary, folder):
    """What a run without a fault is blamed for, beyond what its design costs."""
    return [cause for cause in causes_of(binary, folder)
            if (cause[2] or 0) >= WORTH and cause[0] not in cases.INHERENT and (cause[0], cause[3]) not in cases.INHERENT_VARIANTS]


def compared(binary, baseline, experiment):
    """The verdict of `compare`, and the exit codes of `check` where any loss counts and where one of 3% passes."""
    verdict = asked(binary, "compare", baseline, experiment, "--format", "json")[1]["values"]["verdict"]["value"]

    def checked(*more):
        command = [binary, "check", str(experiment), "--baseline", str(baseline), *more, "--format", "json"]
        return subprocess.run(command, capture_output=True, text=True).returncode

    return verdict, checked(), checked("--tolerance", "3%")


def judged(binary, case, folder, twin, gain):
    """What is said of one fault: whether it is found, and how far the ceiling lies from what removing it gives."""
    causes = causes_of(binary, folder)
    first = causes[0] if causes else ("nothing", "", None, None)
    said = first[2] or 1.0
    is_first = first[0] in case["first"] and case["what"] in first[1]
    word = "MISSED" if not is_first else "ok" if abs(said / gain - 1.0) <= OFF else "OFF"
    verdict, code, code_3 = compared(binary, twin, folder)
    return dict(case=case, gain=gain, word=word, said=said, first=first, then=causes[1:3], verdict=verdict, code=code, code_3=code_3)


def print_faults(results):
    for one in results:
        words = f"{one['first'][0]} {one['said']:.2f}x, true {one['gain']:.3f}x; compare {one['verdict']}, check exits {one['code']}"
        print(f"{one['word']:6} {one['case']['name']}: {words}  {one['first'][1]}")
        for other in one["then"] if one["word"] == "MISSED" else ():
            print(f"       then {other[0]} {other[2] or 0:.2f}x  {other[1]}")


def print_kinds(results):
    print(f"\n{'kind':32} {'runs':>4} {'first':>5} {'within 10%':>10} {'ceiling error':>13}  smallest found")
    for kind in sorted({one["case"]["kind"] for one in results}):
        own = [one for one in results if one["case"]["kind"] == kind]
        found = [one for one in own if one["word"] != "MISSED"]
        error = f"{statistics.median(abs(one['said'] / one['gain'] - 1) for one in found):.1%}" if found else "-"
        least = f"{min(one['gain'] for one in found):.3f}x" if found else "none"
        near = sum(one["word"] == "ok" for one in own)
        print(f"{kind:32} {len(own):4} {len(found):5} {near:10} {error:>13}  {least}")


def bounds(results, alarms, quiet, pairs):
    """What is out of bounds, in words."""
    worth = [one for one in results if one["gain"] >= SMALL]
    right = sum(one["word"] == "ok" for one in worth)
    first = sum(one["word"] != "MISSED" for one in worth)
    print(f"\nof {len(worth)} faults that cost {SMALL - 1:.0%} or more: {first} are the first cause, {right} with a ceiling within {OFF:.0%}")
    said = [one["verdict"] for one in worth]
    print("compare: " + ", ".join(f"{said.count(word)} {word}" for word in sorted(set(said))))
    for which, words in (("code", "check"), ("code_3", "check --tolerance 3%")):
        codes = [one[which] for one in worth]
        print(f"{words} exits with " + ", ".join(f"{code}: {codes.count(code)}" for code in sorted(set(codes))))
    told = [pair for pair in pairs if pair[1] not in ("unchanged", "same", "undecided")]
    print(f"equal programs: {len(told)} of {len(pairs)} pairs are told apart; {len(alarms)} causes claimed of {quiet} runs without a fault")
    said = [f"{name}: {cause[0]} {cause[2]:.2f}x of a run without a fault: {cause[1]}" for name, cause in alarms]
    for one in said:
        print(f"  BLAMED {one}")
    out = said if len({name for name, _ in alarms}) > BLAMED * quiet else []
    if worth and right < RIGHT * len(worth):
        out.append(f"{right} of {len(worth)} first causes are right with their ceiling, expected {RIGHT:.0%}")
    if len(told) > max(ALARMS * len(pairs), 1):
        out += [f"{name}: {verdict}, but the programs are equal" for name, verdict, *_ in told]
    for one in worth:
        if one["gain"] >= SLOWER and one["verdict"] in ("unchanged", "same"):
            out.append(f"{one['case']['name']}: compare says {one['verdict']} of a run that is {one['gain']:.3f}x slower")
        if one["gain"] >= SLOWER and one["code"] == 0:
            out.append(f"{one['case']['name']}: check passes a run that is {one['gain']:.3f}x slower")
        if one["gain"] >= 1.04 and one["code_3"] == 0:
            out.append(f"{one['case']['name']}: check --tolerance 3% passes a run that is {one['gain']:.3f}x slower")
    return out


def forged(given):
    """Makes the grid and asks; the results, the false alarms, the equal pairs."""
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    python, forge = python_of(out), copy_of(given.forge, out, cases.MODELS, cases.CHIPS, Path(__file__).parent / "models.py")
    absent = set()
    for program, (text, trips) in cases.TEXTS.items():
        spec, path = json.dumps(cases.MODELS[program]), given.forge.resolve() / text
        if path.exists():
            own = Path(__file__).parent / "from_text.py"
            subprocess.run([python, own, forge, spec, path, json.dumps(trips)], check=True, capture_output=True)
        else:
            absent.add(program)
            print(f"skip   {program}: {path} is not there")

    def is_there(run):
        return not any(one["program"] in absent for one in run["scenario"]["runs"])

    wanted = [case for case in cases.grid(given.quick) if is_there(case) and (not given.only or given.only in case["name"])]
    seeds = {(case["base"], case["seed"]) for case in wanted}
    clean = [run for run in cases.clean(given.quick) if is_there(run) and (not given.only or (run["base"], run["seed"]) in seeds)]
    # The first of each program compiles it: one after the other.
    made = {}
    for run in clean:
        if run["seed"] == cases.CLEAN_SEEDS[0]:
            made[run["name"]] = make(python, forge, out, run["name"], run["scenario"], "forge2.py")
    with ThreadPoolExecutor(given.jobs) as pool:
        rest = [run for run in [*clean, *wanted] if run["name"] not in made]
        done = pool.map(lambda run: (run["name"], make(python, forge, out, run["name"], run["scenario"], "forge2.py")), rest)
        made.update(done)
        step = {name: truth["step_time_ms"]["mean"] for name, (_, truth) in made.items()}

        def fault(case):
            twin = cases.clean_name(case["base"], case["seed"])
            known = dict(name=case["name"], kind=case["kind"]["name"], first=case["kind"]["first"],
                         what=case["kind"]["what"](case["scenario"], case["size"]))
            return judged(given.bin, known, made[case["name"]][0], made[twin][0], step[case["name"]] / step[twin])

        def quiet(run):
            return [(run["name"], cause) for cause in blamed(given.bin, made[run["name"]][0])]

        def pair(run):
            twin = cases.clean_name(run["base"], cases.CLEAN_SEEDS[0])
            return (run["name"], *compared(given.bin, made[twin][0], made[run["name"]][0]))

        results = list(pool.map(fault, wanted))
        alarms = [alarm for run in pool.map(quiet, clean) for alarm in run]
        pairs = list(pool.map(pair, [run for run in clean if run["seed"] != cases.CLEAN_SEEDS[0]]))
    return results, alarms, len(clean), pairs


def of_stored(given):
    """Asks about runs that lie there already."""
    results = []
    for case, folder, twin, gain in stored.runs(given.stored):
        results.append(judged(given.bin, case, folder, twin, gain))
    clean = list(stored.clean(given.stored))
    alarms = [(folder.name, cause) for folder in clean for cause in blamed(given.bin, folder)]
    return results, alarms, len(clean), []


def main():
    """Exits with 1 where a bound is left."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--forge", type=Path)
    parser.add_argument("--stored", type=Path)
    parser.add_argument("--out", default=Path("target/verdicts"), type=Path)
    parser.add_argument("--quick", action="store_true", help="one size of each kind, on the programs that are quickest to make")
    parser.add_argument("--only", help="only faults whose name holds this")
    parser.add_argument("--jobs", type=int, default=2, help="runs that are made at a time [2]")
    given = parser.parse_args()
    if not given.stored and not given.forge:
        parser.error("either --forge or --stored is needed")
    results, alarms, quiet, pairs = of_stored(given) if given.stored else forged(given)
    print_faults(results)
    print_kinds(results)
    failures = bounds(results, alarms, quiet, pairs)
    for failure in failures:
        print(f"  FAILED {failure}")
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
