#!/usr/bin/env python3
"""Asks PyPI's xprof and Haloscope the same questions about profiles that are generated here.

    run.py --bin target/release/haloscope [--only REGEX] [--tools T1,T2] [--wrong N] [--known FILE] [--keep DIR] [--live] [--record]

What XProf said is recorded (see recorded.py): it is asked only about profiles that are new, or everything with --live, which fails
where the record is not what it says, and with --record, which writes it. HALOSCOPE_XPROF_PYTHON names a Python that has xprof 2.24.2; without it a virtual environment is made (and kept) in the user's
cache folder. Prints a line for each case and tool with its differences, then a line for each tool; exit status 0 where every
leaf that XProf answers is answered alike, or is excused by the list of known differences. Needs Python 3.9 and nothing else.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import recorded  # noqa: E402
from answers import Result, compare, lose, read  # noqa: E402
from cases import CASES  # noqa: E402

XPROF = "xprof==2.24.2"


def python_with_xprof():
    given = os.environ.get("HALOSCOPE_XPROF_PYTHON")
    if given:
        return given
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = cache / "haloscope" / XPROF.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {XPROF} into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", XPROF], check=True)
        (folder / "ready").touch()
    return str(python)


def lay_out(folder, cases):
    """Writes the profiles and lists the questions."""
    questions = []
    for case in cases:
        run = folder / case.name / "plugins" / "profile" / "run"
        run.mkdir(parents=True)
        for host, space in case.spaces().items():
            (run / f"{host}.xplane.pb").write_bytes(space.bytes())
        for i, (tool, params, direct) in enumerate(case.asks):
            out = folder / case.name / f"{i}.xprof"
            # xprof writes beside profiles, so it gets its own copy.
            logdir = folder / case.name / "xprof"
            if not logdir.exists():
                shutil.copytree(folder / case.name / "plugins", logdir / "plugins")
            # HTTP clients always name a host.
            host = "ALL_HOSTS" if case.several else next(iter(case.hosts))
            questions.append(
                {
                    "case": case.name, "tool": tool, "asked": params, "params": {"host": host, **params}, "direct": direct,
                    "run": str(run), "logdir": str(logdir), "out": str(out),
                    "files": [str(logdir / "plugins" / "profile" / "run" / f"{host}.xplane.pb") for host in case.hosts],
                }
            )  # fmt: skip
    return questions


RECORD = "generated"


def answers_of_xprof(folder, cases, questions, live):
    """Puts XProf's answers where the questions say: recorded ones, and for the rest XProf's own. What is recorded, what counts
    now, and how many were asked."""
    kept = recorded.load(RECORD)
    kept = {case.name: recorded.Record(profile(case), kept.get(case.name)) for case in cases}
    rest = []
    for question in questions:
        answer = None if live else kept[question["case"]].get(key(question))
        if answer is None:
            rest.append(question)
        else:
            pathlib.Path(question["out"]).write_bytes(answer[1])
            pathlib.Path(question["out"] + ".status").write_text(json.dumps({"status": answer[0]}))
    if rest:
        manifest = folder / "questions.json"
        manifest.write_text(json.dumps(rest))
        subprocess.run([python_with_xprof(), str(HERE / "oracle.py"), str(manifest)], check=True, stderr=subprocess.DEVNULL)
    fresh = {case.name: recorded.Record(profile(case)) for case in cases}
    for question in questions:
        status = json.loads(pathlib.Path(question["out"] + ".status").read_text())["status"]
        fresh[question["case"]].put(key(question), status, pathlib.Path(question["out"]).read_bytes())
    return kept, fresh, len(rest)


def profile(case):
    return recorded.profile_hash((host, space.bytes()) for host, space in case.spaces().items())


def key(question):
    """A question of a case, in words."""
    return json.dumps([question["tool"], question["params"], question["direct"]], sort_keys=True)


def changed(kept, fresh):
    """Questions whose answer is not what is recorded."""
    for case in fresh:
        for question in sorted({*fresh[case].answers, *kept[case].answers}):
            now, then = fresh[case].get(question), kept[case].get(question)
            if now is None or then is None or now[0] != then[0] or now[0] == "answer" and not equal(now[1], then[1]):
                yield case, question


def equal(now, then):
    result = Result()
    compare(read(then), read(now), "$", result)
    return not result.wrong


def ask(binary, question):
    command = [binary, "xprof", question["tool"], question["run"]]
    for key, value in question["params"].items():
        command += ["-p", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()


def judge(binary, question, known):
    """What came of one question: a word, a result, remarks."""
    theirs = pathlib.Path(question["out"]).read_bytes()
    status = json.loads(pathlib.Path(question["out"] + ".status").read_text())
    result = Result([rule["path"] for rule in known if rule["tool"] in (question["tool"], "*")])
    code, ours, complaint = ask(binary, question)
    complaint = complaint.splitlines()[-1][:200] if complaint else ""
    if status["status"] != "answer" or not theirs:
        said = theirs.decode("utf-8", "replace")[:100] or "nothing"
        # Where XProf has no answer, we may have one or say why not.
        word = "more" if code == 0 else "ok"
        return word, result, [f"XProf {status['status']}: {said}" + (f"; Haloscope: {complaint}" if complaint else "")]
    want = read(theirs)
    if code != 0:
        lose(want, "$", result)
        return "REFUSED", result, [complaint]
    compare(want, read(ours), "$", result)
    return "DIFFERS" if result.wrong else "ok", result, []


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--only", default="", help="regular expression on the name of the case")
    options.add_argument("--tools", default="", help="comma list")
    options.add_argument("--known", default=str(HERE.parents[1] / "fixtures" / "parity" / "known.json"))
    options.add_argument("--wrong", type=int, default=5, help="differences shown for each question")
    options.add_argument("--live", action="store_true", help="ask XProf everything, and fail where the record is not what it says")
    options.add_argument("--record", action="store_true", help="ask XProf everything, and write the record")
    options.add_argument("--keep", help="write the profiles and XProf's answers here")
    a = options.parse_args()
    known = json.loads(pathlib.Path(a.known).read_text()) if os.path.exists(a.known) else []
    known = [{"tool": k["tool"], "path": re.compile(k["path"])} for k in known]
    chosen = [case for case in CASES if re.search(a.only, case.name)]
    folder = pathlib.Path(a.keep or tempfile.mkdtemp(prefix="haloscope-conformance-"))
    folder.mkdir(parents=True, exist_ok=True)
    words, table = collections.Counter(), collections.defaultdict(collections.Counter)
    try:
        questions = lay_out(folder, chosen)
        questions = [q for q in questions if not a.tools or q["tool"] in a.tools.split(",")]
        kept, fresh, asked_now = answers_of_xprof(folder, chosen, questions, a.live or a.record)
        whole = not a.only and not a.tools
        if a.record and whole:
            recorded.write(RECORD, fresh)
        for case, asked in changed(kept, fresh) if a.live and whole else []:
            words["RECORD"] += 1
            print(f"RECORD   {case} {asked}: XProf says otherwise than is recorded; --record writes it")
        for question in questions:
            word, result, remarks = judge(a.bin, question, known)
            words[word] += 1
            row = table[question["tool"]]
            row.update({"questions": 1, "ok": word in ("ok", "more"), "leaves": result.leaves, "good": result.good})
            asked = ",".join(f"{k}={v}" for k, v in question["asked"].items())
            counts = f"{result.good}/{result.leaves}" + (f" known {result.excused}" if result.excused else "")
            counts += f" extra {result.more}" if result.more else ""
            print(f"{word:8} {question['case']:34} {question['tool']:24} {asked:34.34} {counts}")
            for line in [*remarks, *([] if word == "REFUSED" else result.wrong[: a.wrong])]:
                print(f"         {line}")
    finally:
        if not a.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print()
    for tool, row in sorted(table.items()):
        print(f"{tool:26} {row['ok']:4} of {row['questions']:4} questions, {row['good']:7} of {row['leaves']:7} leaves")
    bad = words["DIFFERS"] + words["REFUSED"] + words["RECORD"]
    print(f"conformance: {len(chosen)} cases, {len(questions)} questions, {asked_now} asked of XProf now, {bad} differ")
    return 1 if bad or not words else 0


if __name__ == "__main__":
    sys.exit(main())
