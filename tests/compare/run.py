"""Pairs of runs of which is known what differs, held against each other by `haloscope compare`.

    python3 tests/compare/run.py --bin target/release/haloscope --forge ../shared/forge [--out target/planted] [--only WORD]
    python3 tests/compare/run.py --forge ../shared/forge --make

Ten pairs that differ in nothing (at most one false alarm in all), pairs that differ in one op (exactly that op is changed), pairs
that are slower in a way that a mean does not tell, pairs that differ in names, and a pair with another batch (not comparable, and the shapes are named). The runs are simulated timelines of
really compiled programs, so that it is known what is true of them. They stay in OUT, which tests/planted shares.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import cases
import renamed

sys.path.insert(0, str(Path(__file__).parent.parent))
from forging import copy_of, make, python_of  # noqa: E402

# So many pairs that differ in nothing may be said to differ, of all.
FALSE_ALARMS = 1
# At least this share of the op time of a program that was only renamed must be known again, and of one that is the same.
MATCHED = 0.999
# The steps of a waterfall may miss the change of the step time by so much, in picoseconds.
OFF_PS = 1_000_000
# A change must be told within so much of what was planted, or of what is true of these runs. Noise is about 1.2%, steps vary by 0.6%.
NEAR = 0.02
SAME = ("unchanged", "undecided")


class Answer:
    """What `compare` says of a pair."""

    def __init__(self, binary, baseline, experiment):
        asked = [binary, "compare", baseline, experiment, "--limit", "100000", "--format", "json"]
        said = subprocess.run(asked, capture_output=True, text=True)
        self.code = said.returncode
        if not said.stdout:
            sys.exit(f"{' '.join(map(str, asked))}: exit {said.returncode}\n{said.stderr[-2000:]}")
        self.report = json.loads(said.stdout)
        self.values = {name: said["value"] for name, said in self.report["values"].items()}
        self.verdict = self.values["verdict"]

    def rows(self, table):
        """A table's rows by column."""
        for found in self.report["tables"]:
            if found["id"] == table:
                names = [column["id"] for column in found["columns"]]
                return [dict(zip(names, row)) for row in found["rows"]]
        return []

    def changes(self):
        """The ops that are said to differ: name, what became of it, rest of the row."""
        said = (row for row in self.rows("ops") if row["change"] not in (None, "unchanged", "undecided"))
        return [(row["op"] or row["was"], row["change"], row) for row in said]

    def waterfall_misses(self):
        """By how much the steps of the waterfall miss the change of the step time, picoseconds."""
        return sum(row["delta_ps"] for row in self.rows("waterfall")) - self.values["step_delta_ps"]


def listed(changes):
    """Changes in words, the largest three."""
    words = [f"{op} {change} {(row['delta_ps'] or 0) / 1e6:+.2f} us" for op, change, row in changes[:3]]
    more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
    return ", ".join(words) + more


def in_sum(answer, faults):
    """Adds a fault where the waterfall does not give the change of the step time, or there is none."""
    if not answer.rows("waterfall"):
        faults.append("there is no waterfall")
    elif abs(answer.waterfall_misses()) > OFF_PS:
        faults.append(f"the waterfall misses the change by {answer.waterfall_misses()} ps")


def of_nothing(answer):
    """What is wrong with the answer about two runs of one program: alarms, and faults."""
    alarms, faults = [], []
    if answer.verdict not in SAME:
        share = answer.values.get("step_delta_share") or 0
        alarms.append(f"the step is {answer.verdict} ({share:+.2%})")
    changes = answer.changes()
    if changes:
        alarms.append(f"{len(changes)} ops: {listed(changes)}")
    if (answer.values.get("matched_share") or 0) < MATCHED:
        faults.append(f"only {answer.values.get('matched_share')} of the op time is matched")
    in_sum(answer, faults)
    return alarms, faults


def of_one_op(answer, truth):
    """What is wrong with the answer about a run with one slower or faster instruction."""
    planted = truth["regression"]["slower_ops"]
    if len(planted) != 1:
        return [f"the scenario slows {len(planted)} instructions: {', '.join(planted)}"]
    (name, true), = planted.items()
    faults = []
    changes = answer.changes()
    wanted = "slower" if true["factor"] > 1 else "faster"
    if not any(op == name and change == wanted for op, change, _ in changes):
        faults.append(f"{name} is not {wanted}")
    others = [change for change in changes if change[0] != name]
    if others:
        faults.append(f"other ops: {listed(others)}")
    for op, _, row in changes:
        added = true["added_ms_per_step"] * 1e9
        if op == name and abs(row["delta_ps"] - added) > max(0.1 * abs(added), NEAR * true["ms_per_step"] * 1e9):
            faults.append(f"{name} changed by {row['delta_ps'] / 1e6:.1f} us, planted {added / 1e6:.1f} us")
    in_sum(answer, faults)
    return faults


def of_slower(answer, way):
    """What is wrong with the answer about a run that is slower in a way that its mean alone does not tell."""
    faults = [] if answer.verdict == "slower" else [f"the step is {answer.verdict}: {answer.values['verdict_why']}"]
    by = (answer.values.get("verdict_by") or "").split(", ")
    if way not in by:
        faults.append(f"it is not told by {way}: {by}")
    return faults


def of_outlier(answer):
    """What is wrong with the answer about a run with one slow step."""
    faults = [] if answer.verdict in SAME else [f"the step is {answer.verdict}: {answer.values['verdict_why']}"]
    if "an outlier" not in answer.values["verdict_why"]:
        faults.append(f"no outlier is told: {answer.values['verdict_why']}")
    return faults


def of_batch(answer, shapes):
    """What is wrong with the answer about another batch."""
    faults = [] if answer.verdict == "not comparable" else [f"the verdict is {answer.verdict}"]
    facts = [row for row in answer.rows("facts") if row.get("breaks") in (True, "yes")]
    said = json.dumps(facts) + json.dumps(answer.report.get("findings"))
    faults += [f"the shape {shape} is not named" for shape in shapes if f"[{shape}]" not in said]
    return faults


class Runs:
    """Makes runs, and answers about pairs of them."""

    def __init__(self, asked):
        self.out = asked.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.python = python_of(self.out)
        self.binary = asked.bin
        self.made = {}
        self.forge = copy_of(asked.forge, self.out, cases.MODELS)
        self.source = asked.forge

    def pair(self, baseline, experiment):
        """The answer about two runs, and what is true of each; no answer without a binary."""
        folders = [self.run(*baseline), self.run(*experiment)]
        answer = Answer(self.binary, folders[0][0], folders[1][0]) if self.binary else None
        return answer, folders[0][1], folders[1][1]

    def run(self, name, scenario):
        """A run's folder and truth."""
        if name not in self.made:
            self.made[name] = make(self.python, self.forge, self.out, name, scenario)
        return self.made[name]

    def rename(self):
        """Adds the renamed programs, which must be compiled by then, to the forge."""
        models = cases.MODELS
        for name, program in cases.RENAMED.items():
            models = renamed.add(self.forge, models, name, program)
        copy_of(self.source, self.out, models)


def main():
    """Exits with 1 where a pair is not told apart as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin")
    parser.add_argument("--forge", required=True, type=Path)
    parser.add_argument("--out", default=Path("target/planted"), type=Path)
    parser.add_argument("--only", default="", help="pairs whose experiment's name holds this word")
    parser.add_argument("--make", action="store_true", help="only make the runs")
    asked = parser.parse_args()
    if not asked.bin and not asked.make:
        parser.error("--bin is needed")
    if asked.make:
        asked.bin = None
    runs = Runs(asked)
    failures, alarms = [], 0

    def tell(name, answer, faults, note=""):
        """One line of a pair."""
        if answer is None:
            return
        word = "ok" if not faults and not note else "ALARM" if not faults else "WRONG"
        share = answer.values.get("step_delta_share")
        share = "" if share is None else f" {share:+.2%}"
        print(f"{word:6} {name}: {answer.verdict}{share}  {note}{'; '.join(faults)}", flush=True)
        failures.extend(f"{name}: {fault}" for fault in faults)

    def is_asked(pair):
        return asked.only in pair[1][0]

    for pair in filter(is_asked, cases.AA):
        answer, *_ = runs.pair(*pair)
        found, faults = of_nothing(answer) if answer else ([], [])
        alarms += bool(found)
        tell(f"{pair[0][0]} and {pair[1][0]}", answer, faults, "; ".join(found))
    if alarms > FALSE_ALARMS:
        failures.append(f"{alarms} false alarms, {FALSE_ALARMS} allowed")
    for pair in filter(is_asked, cases.ONE_OP):
        answer, _, truth = runs.pair(*pair)
        tell(pair[1][0], answer, of_one_op(answer, truth) if answer else [])
    for baseline, experiment, way in cases.SLOWER:
        if is_asked((baseline, experiment)):
            answer, *_ = runs.pair(baseline, experiment)
            tell(experiment[0], answer, of_slower(answer, way) if answer else [])
            # The other way round it is faster; not where the slow step would be the experiment's.
            if way != "usual steps":
                back, *_ = runs.pair(experiment, baseline)
                tell(f"{experiment[0]}, back", back, [] if back is None or back.verdict == "faster" else [f"the step is {back.verdict}"])
    for pair in filter(is_asked, cases.OUTLIERS):
        for baseline, experiment in (pair, pair[::-1]):
            answer, *_ = runs.pair(baseline, experiment)
            tell(f"{baseline[0]} and {experiment[0]}", answer, of_outlier(answer) if answer else [])
    if is_asked(cases.BATCH):
        answer, *_ = runs.pair(*cases.BATCH[:2])
        tell(cases.BATCH[1][0], answer, of_batch(answer, cases.BATCH[2]) if answer else [])
    if any(map(is_asked, cases.RENAMES)):
        for baseline, _ in cases.RENAMES:
            runs.run(*baseline)
        runs.rename()
    for pair in filter(is_asked, cases.RENAMES):
        answer, *_ = runs.pair(*pair)
        found, faults = of_nothing(answer) if answer else ([], [])
        if answer and not answer.values.get("ops_renamed", 1):
            faults.append("no op is said to be renamed")
        tell(pair[1][0], answer, faults + found)
    if asked.bin:
        print(f"{alarms} false alarms; {len(failures)} failures")
    for failure in failures:
        print(f"  {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
