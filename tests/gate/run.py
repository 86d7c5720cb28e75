#!/usr/bin/env python3
"""A sample pipeline: the step `Gate` of docs/examples/performance-gate.yml, run as it stands there by the shell that GitHub uses.

    python3 tests/gate/run.py --bin target/release/haloscope [--traces ../shared/traces]

It passes on two runs of one program, fails with 1 where an op got slower, with 5 where the runs are not comparable, with 3 where
a file cannot be read. The JUnit file is read by Python's parser and, where it is installed, by junitparser; the workflow by PyYAML,
where that is installed. Needs nothing else.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "docs/examples/performance-gate.yml"
BUDGET = ROOT / "docs/examples/budget.toml"
RUNS = ROOT / "fixtures/runs"

failures = []


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what)
    if not holds:
        failures.append(what)


def shell_of(step):
    """The `run` block of a step, by its name; without PyYAML by its indentation."""
    text = WORKFLOW.read_text()
    try:
        import yaml
    except ImportError:
        print("skipped: PyYAML is not installed; the step is cut out by its indentation")
    else:
        workflow = yaml.safe_load(text)
        # YAML 1.1 reads `on` as true.
        check("on" in workflow or True in workflow, "the workflow says when it runs")
        steps = workflow["jobs"]["gate"]["steps"]
        for each in steps:
            check(("uses" in each) != ("run" in each), f"step {each.get('name', each.get('uses'))}: an action or a script")
        return next(each["run"] for each in steps if each.get("name") == step)
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip() == f"- name: {step}")
    at = next(i for i in range(at, len(lines)) if lines[i].strip() == "run: |") + 1
    indent = len(lines[at]) - len(lines[at].lstrip())
    block = []
    for line in lines[at:]:
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            break
        block.append(line[indent:])
    return "\n".join(block) + "\n"


def pipeline(script, binary, baseline, run, budget=BUDGET):
    """Runs the step in a folder of its own, with the environment that the runner gives it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        summary, output = folder / "summary.md", folder / "output"
        summary.touch()
        output.touch()
        env = {
            **os.environ,
            "PATH": f"{binary.parent}{os.pathsep}{os.environ['PATH']}",
            "BASELINE": str(baseline),
            "RUN": str(run),
            "BUDGET": str(budget),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(output),
        }
        # As https://docs.github.com/actions: the default shell of `run`.
        command = ["bash", "-e", "-c", script]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        report = folder / "check.json"
        junit = folder / "check.xml"
        return {
            "code": done.returncode,
            "stdout": done.stdout,
            "stderr": done.stderr,
            "output": output.read_text(),
            "summary": summary.read_text(),
            "report": json.loads(report.read_text()) if report.exists() else None,
            "junit": junit.read_text() if junit.exists() else None,
        }


def tests_of(junit):
    """The tests of a JUnit file: name to outcome. Its sums must be right."""
    root = ElementTree.fromstring(junit)
    suites = root.findall("testsuite")
    tests = {}
    for suite in suites:
        counts = {"failure": 0, "error": 0, "skipped": 0}
        cases = suite.findall("testcase")
        for case in cases:
            kinds = [child.tag for child in case if child.tag in counts]
            for kind in kinds:
                counts[kind] += 1
            tests[f"{case.get('classname')} {case.get('name')}"] = kinds[0] if kinds else "passed"
        check(len({(c.get("classname"), c.get("name")) for c in cases}) == len(cases), "JUnit: no two tests of one name")
        check(int(suite.get("tests")) == len(cases), "JUnit: the number of tests")
        check(int(suite.get("failures")) == counts["failure"], "JUnit: the number of failures")
        check(int(suite.get("errors")) == counts["error"], "JUnit: the number of errors")
        check(int(suite.get("skipped")) == counts["skipped"], "JUnit: the number of skipped tests")
    try:
        from junitparser import JUnitXml
    except ImportError:
        print("skipped: junitparser is not installed")
    else:
        parsed = JUnitXml.fromstring(junit)
        names = [f"{case.classname} {case.name}" for suite in parsed for case in suite]
        check(sorted(names) == sorted(tests), "junitparser finds the same tests")
        check(parsed.tests == len(tests), "junitparser counts the same tests")
    return tests


def pair(script, binary, title, baseline, run, code, verdict):
    print(f"\n{title}")
    got = pipeline(script, binary, baseline, run)
    check(got["code"] == code, f"exit code {code}: {got['code']} {got['stdout'].strip()} {got['stderr'].strip()[-400:]}")
    check(f"code={code}\n" in got["output"], "the step's output has the code")
    if verdict is None:
        check(got["junit"] is None and got["report"] is None, "no report of what cannot be read")
        return None
    check(got["report"] is not None and got["junit"] is not None, "JSON and JUnit are there")
    if got["report"] is None or got["junit"] is None:
        return None
    found = got["report"]["values"]["verdict"]["value"]
    check(found == verdict, f"the verdict is {verdict}: {found}")
    check(verdict in got["summary"], "the summary has the verdict")
    check("| Metric |" in got["summary"], "the summary has the table of metrics")
    return tests_of(got["junit"]), got["report"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="target/release/haloscope", type=pathlib.Path)
    parser.add_argument("--traces", default=ROOT / "../shared/traces", type=pathlib.Path)
    args = parser.parse_args()
    binary = args.bin.resolve()
    script = shell_of("Gate")
    step = "haloscope.check.budgets step_time max_increase 3%"

    same = pair(script, binary, "two runs of one program", RUNS / "tpu-gate", RUNS / "tpu-gate-again", 0, "passed")
    if same:
        tests, _ = same
        check(tests.get(step) == "passed", f"{step} passed")
        check("skipped" in tests.values(), "what may be unknown is skipped")
        check(not {"failure", "error"} & set(tests.values()), "no test fails")

    slower = pair(script, binary, "an op got slower", RUNS / "tpu-gate", RUNS / "tpu-gate-slower", 1, "regressed")
    if slower:
        tests, report = slower
        check(tests.get(step) == "failure", f"{step} fails")
        check(report["gate"] == "failed" and report["passed"] is False, "JSON says so too")
        truth = [json.loads((RUNS / name / "truth.json").read_text())["steps"]["mean_ps"] for name in ("tpu-gate", "tpu-gate-slower")]
        delta = report["values"]["step_delta_ps"]["value"]
        built_in = truth[1] - truth[0]
        check(abs(delta / built_in - 1) < 0.01, f"the difference is the one built in: {delta} against {built_in}")

    faster = pair(script, binary, "the other way round", RUNS / "tpu-gate-slower", RUNS / "tpu-gate", 0, "passed")
    if faster:
        check(faster[1]["values"]["step_verdict"]["value"] == "faster", "it is faster")

    other = pair(script, binary, "another program on another chip", RUNS / "tpu-gate", RUNS / "tpu-custom-call", 5, "not comparable")
    if other:
        tests, report = other
        check(tests.get("haloscope.check.gate comparable") == "error", "JUnit has it as an error")
        check(report["gate"] == "not_comparable" and report["passed"] is None, "JSON says so too")

    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder) / "broken.xplane.pb"
        broken.write_bytes(b"this is no profile")
        pair(script, binary, "a file that is no profile", RUNS / "tpu-gate", broken, 3, None)
        pair(script, binary, "a run that is not there", RUNS / "tpu-gate", pathlib.Path(folder) / "none", 3, None)

    forged = args.traces / "forged"
    if forged.is_dir():
        a, b = forged / "dense_train_v5e16", forged / "dense_train_v5e16_regressed"
        pair(script, binary, "the forged pair, itself against itself", a, a, 0, "passed")
        pair(script, binary, "the forged pair, regressed", a, b, 1, "regressed")
    else:
        print(f"\nskipped: {forged} is not here")

    print(f"\n{len(failures)} checks failed" if failures else "\nall checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
