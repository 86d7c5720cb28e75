#!/usr/bin/env python3
"""The action haloscope-check: its one step, run as GitHub runs it, with events and an API that are made up here.

    python3 tests/action/run.py --bin target/release/haloscope

The API stands in for `gh`: it keeps comments by pull request, in pages, and refuses whom a token does not let write. Needs nothing
but Python and Bash.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github/actions/haloscope-check"
RUNS = ROOT / "fixtures/runs"
BOT = "github-actions[bot]"

# `gh`, as far as the action uses it. Where there is no jq, its question is compared with the one whose meaning is written out here.
GH = r'''#!/usr/bin/env python3
import json, os, pathlib, shutil, subprocess, sys
state = pathlib.Path(os.environ["FAKE_STATE"])
comments = json.loads(state.read_text())
args = sys.argv[1:]
assert args[0] == "api" and os.environ["GH_TOKEN"] == "a-token", args
calls = state.with_name("calls")
if "--jq" in args:
    assert "--paginate" in args and args[args.index("--jq") + 1] == \
        ".[] | select(.user.login == env.AUTHOR and (.body | startswith(env.MARK))) | .id", args
    path = next(a for a in args if a.startswith("repos/"))
    number = int(path.split("/issues/")[1].split("/")[0])
    assert path == f"repos/owner/project/issues/{number}/comments?per_page=100", path
    if shutil.which("jq"):
        page = [{"id": c["id"], "user": {"login": c["user"]}, "body": c["body"]} for c in comments if c["issue"] == number]
        sys.exit(subprocess.run(["jq", "-r", args[args.index("--jq") + 1]], input=json.dumps(page), text=True).returncode)
    for one in comments:
        if one["issue"] == number and one["user"] == os.environ["AUTHOR"] and one["body"].startswith(os.environ["MARK"]):
            print(one["id"])
    sys.exit(0)
if os.environ.get("FAKE_READ_ONLY"):
    print("gh: Resource not accessible by integration (HTTP 403)", file=sys.stderr)
    sys.exit(1)
method, path = args[args.index("--method") + 1], next(a for a in args if a.startswith("repos/"))
name, _, file = args[args.index("--field") + 1].partition("=@")
assert name == "body" and "--silent" in args, args
body = pathlib.Path(file).read_text(encoding="utf-8")
assert len(body) < 65536
if method == "POST":
    number = int(path.removeprefix("repos/owner/project/issues/").removesuffix("/comments"))
    comments.append({"id": 100 + len(comments), "issue": number, "user": "github-actions[bot]", "body": body})
else:
    assert method == "PATCH", method
    found = int(path.removeprefix("repos/owner/project/issues/comments/"))
    next(one for one in comments if one["id"] == found)["body"] = body
state.write_text(json.dumps(comments))
with calls.open("a") as log:
    log.write(method + "\n")
'''

failures = []


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what)
    if not holds:
        failures.append(what)


class World:
    """A folder with the program, `gh`, and the comments that there are."""

    def __init__(self, folder, binary):
        self.folder = pathlib.Path(folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "haloscope").symlink_to(binary)
        gh = self.bin / "gh"
        gh.write_text(GH)
        gh.chmod(0o755)
        self.state = self.folder / "comments.json"
        self.state.write_text("[]")
        self.surroundings = {}

    def comments(self):
        return json.loads(self.state.read_text())

    def calls(self):
        path = self.state.with_name("calls")
        return path.read_text().split() if path.exists() else []

    def run(self, event, **inputs):
        summary, output, told = (self.folder / name for name in ("summary", "output", "event.json"))
        summary.write_text("")
        output.write_text("")
        told.write_text(json.dumps(event))
        env = {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "HALOSCOPE_CACHE": "off",
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_EVENT_PATH": str(told),
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_REPOSITORY": "owner/project",
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(output),
            "FAKE_STATE": str(self.state),
            **self.surroundings,
            **given(inputs),
        }
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step()], cwd=self.folder, env=env,
                              capture_output=True, text=True, timeout=300)
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.returncode, outputs, summary.read_text(), done.stdout + done.stderr


def action_text():
    return (ACTION / "action.yml").read_text()


def step():
    """The command of the action's step."""
    return re.search(r"^      run: (.+)$", action_text(), re.M)[1]


def given(inputs):
    """The environment of the step: each input as action.yml hands it on, with its default where none is given."""
    text = action_text()
    declared = text[text.index("inputs:\n"):text.index("outputs:\n")]
    defaults = {}
    for name, block in re.findall(r"^  ([a-z-]+):\n((?:    .*\n)+)", declared, re.M):
        found = re.search(r"^    default: (.*)$", block, re.M)
        defaults[name] = found[1].strip('"') if found else None
    defaults["github-token"] = "a-token"
    values = {**defaults, **{name.replace("_", "-"): str(value) for name, value in inputs.items()}}
    handed = re.findall(r"^        ([A-Z_]+): \$\{\{ inputs\.([a-z-]+) \}\}$", text, re.M)
    check({name for _, name in handed} == set(defaults), "every input is handed on, and no other")
    assert all(values[name] is not None for _, name in handed), "a required input is not given"
    return {variable: values[name] for variable, name in handed}


def pull_request(number):
    return {"pull_request": {"number": number}}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="target/release/haloscope", type=pathlib.Path)
    binary = parser.parse_args().bin.resolve()

    with tempfile.TemporaryDirectory() as folder:
        world = World(folder, binary)

        print("\na run that passes")
        code, outputs, summary, said = world.run(
            pull_request(7), run=RUNS / "tpu-gate-again", baseline=f"{RUNS / 'tpu-gate'}\n\n", budget=ROOT / "docs/examples/budget.toml")
        check(code == 0, f"the step passes: {code} {said[-300:]}")
        check(outputs.get("gate") == "passed" and outputs.get("code") == "0", f"its outputs say so: {outputs}")
        check(json.loads(pathlib.Path(outputs["json"]).read_text())["gate"] == "passed", "the report is there")
        check("<testsuite" in pathlib.Path(outputs["junit"]).read_text(), "JUnit too")
        comments = world.comments()
        check(len(comments) == 1 and comments[0]["issue"] == 7, "one comment on that pull request")
        body = comments[0]["body"]
        check(body.startswith("<!-- haloscope-check: run -->\n### Haloscope, run: passed\n"), f"it begins with the verdict: {body[:90]!r}")
        check(body == summary, "the summary of the job says the same")
        asked = [[str(binary), "diagnose", str(RUNS / "tpu-gate-again"), "--format", "markdown", "--brief"]]
        brief = subprocess.run(asked[0], capture_output=True, text=True, env={**os.environ, "HALOSCOPE_CACHE": "off"}).stdout
        check(len(brief) > 40 and brief in body, "it holds the brief diagnosis")
        check("| Metric |" in body, "and the table of the check")

        print("\nthe same pull request, slower now")
        code, outputs, _, said = world.run(pull_request(7), run=RUNS / "tpu-gate-slower", baseline=RUNS / "tpu-gate")
        check(code == 1 and outputs.get("gate") == "failed", f"the step fails: {code} {outputs}")
        check("::error::" in said, "and says why")
        comments = world.comments()
        check(len(comments) == 1 and ": failed\n" in comments[0]["body"], "the comment was replaced")
        check(world.calls() == ["POST", "PATCH"], f"{world.calls()}")

        print("\nother names, other people")
        planted = {"id": 5, "issue": 8, "user": "somebody", "body": "<!-- haloscope-check: v5e --> mine"}
        world.state.write_text(json.dumps([planted]))
        code, outputs, _, _ = world.run(pull_request(8), run=RUNS / "tpu-gate-slower", baseline=RUNS / "tpu-gate", name="v5e", fail="false")
        check(code == 0 and outputs["code"] == "1", "the step passes where it is told to, and its output has the code")
        world.run(pull_request(8), run=RUNS / "tpu-gate", name="a --> b\n$(date)`id`")
        comments = world.comments()
        check(comments[0] == planted, "a comment of somebody else stays")
        check([one["id"] for one in comments] == [5, 101, 102], "each name has a comment of its own")
        head = comments[2]["body"].splitlines()[0]
        check(re.fullmatch(r"<!-- haloscope-check: [\w ./_-]+ -->", head) is not None and head.count("-->") == 1, f"a name ends no mark: {head}")

        print("\nno baseline, and a claim that does not hold")
        code, outputs, _, _ = world.run(pull_request(9), run=RUNS / "tpu-gate", claims="step_time<=1us\n", arguments="--confidence=0.9\n")
        check(code == 1 and outputs["gate"] == "failed", f"{code} {outputs}")

        print("\nruns that give no verdict")
        broken = world.folder / "-broken.xplane.pb"
        broken.write_bytes(b"this is no profile")
        code, outputs, summary, said = world.run(pull_request(9), run=broken.name, name="broken")
        check((code, outputs.get("gate")) == (3, "none"), f"what cannot be read: {code} {outputs}")
        check("no verdict (exit code 3)" in summary, "the summary says so")
        code, outputs, _, _ = world.run(pull_request(9), run=RUNS / "tpu-custom-call", baseline=RUNS / "tpu-gate", name="other")
        check((code, outputs.get("gate")) == (5, "not_comparable"), f"another program: {code} {outputs}")

        print("\nnothing to check")
        code, outputs, summary, _ = world.run(pull_request(12), run=RUNS / "tpu-gate", name="only")
        check(code == 0 and outputs["gate"] == "none" and outputs["junit"] == "", f"a diagnosis alone: {code} {outputs}")
        check("run: " not in summary and ": nothing was checked\n" in summary and "<details>" not in summary, "it is no verdict")
        code, _, summary, _ = world.run(pull_request(12), run=world.folder / "absent", name="only")
        check(code == 3 and "no verdict (exit code 3)" in summary, f"a run that is not there: {code}")

        print("\nno comment")
        before = world.comments()
        code, _, summary, said = world.run({"ref": "refs/heads/main"}, run=RUNS / "tpu-gate")
        check(code == 0 and "::notice::no comment" in said and bool(summary), f"an event without a pull request gives a notice: {code} {said[-400:]}")
        world.run(pull_request(10), run=RUNS / "tpu-gate", comment="false")
        check(world.comments() == before, "none is written where none is wanted")
        world.surroundings["FAKE_READ_ONLY"] = "1"
        code, _, _, said = world.run(pull_request(11), run=RUNS / "tpu-gate")
        check(code == 0 and world.comments() == before and "::warning::no comment" in said, f"a token that may only read gives a warning: {said[-400:]}")
        del world.surroundings["FAKE_READ_ONLY"]
        code, outputs, _, said = world.run(pull_request(11), run=RUNS / "tpu-gate", haloscope=str(world.folder / "absent"))
        check(code == 2 and "there is no program" in said, "a program that is absent is an error")

    print(f"\n{len(failures)} checks failed" if failures else "\nall checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
