"""A ledger whose writers are killed: what was said to be written is there, nothing is there in part, and the next writer goes on."""
import json
import os
import random
import shutil
import signal
import subprocess
import time

from processes import check, ended_well, said

# Writers at a time, to one file: they wait for each other's lock.
MOST = 3
# A new ledger after so many kills: each writer reads what there is.
ROUND = 200


class Case:
    """A ledger of its own, to which one small run is added again and again, each time with another note."""

    def __init__(self, binary, folder, profile):
        self.binary, self.folder = str(binary), folder
        session = folder / "logs/plugins/profile/run"
        session.mkdir(parents=True)
        self.logs, self.ledger = folder / "logs", folder / "history.jsonl"
        shutil.copy(profile, session / "host0.xplane.pb")
        begun = time.monotonic()
        done = self.finish(self.start("first"))
        self.took = time.monotonic() - begun
        check(done == 0, f"ledger add: exit {done}")

    def start(self, note):
        command = [self.binary, "ledger", "add", str(self.logs), "--ledger", str(self.ledger), "--note", note, "--commit", "0" * 40]
        return subprocess.Popen(command, env={**os.environ, "HALOSCOPE_CACHE": "off"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def finish(self, process):
        process.communicate()
        return process.returncode

    def notes(self):
        """What each whole line says, and how many lines are none."""
        notes, broken = [], 0
        for line in self.ledger.read_bytes().split(b"\n")[:-1] if self.ledger.exists() else []:
            try:
                notes.append(json.loads(line)["note"])
            except (ValueError, KeyError):
                broken += 1
        return notes, broken

    def shown(self):
        """How many entries the program itself finds."""
        command = [self.binary, "ledger", "show", str(self.ledger), "--format", "json", "--limit", "0"]
        done = subprocess.run(command, capture_output=True, env={**os.environ, "HALOSCOPE_CACHE": "off"}, check=False)
        ended_well(done, "ledger show")
        if not check(done.returncode == 0, f"ledger show: {done.stderr.decode()}"):
            return None
        report = json.loads(done.stdout)
        return next(len(table["rows"]) for table in report["tables"] if table["id"] == "entries")


def kills(case, times):
    """Writers, one or several at a time, killed at any moment; of whom nobody killed, the line is there, once."""
    longest, killed, done = case.took * 1.2, 0, 0
    written, started = {"first"}, {"first"}
    while done < times:
        if done % ROUND == 0 and done:
            case.ledger.unlink()
            written, started = set(), set()
        notes = [f"{done}-{writer}" for writer in range(random.randint(1, MOST))]
        started |= set(notes)
        processes = [(note, case.start(note)) for note in notes]
        time.sleep(random.uniform(0, longest))
        processes[0][1].send_signal(signal.SIGKILL)
        was_killed = False
        for note, process in processes:
            code = case.finish(process)
            if code == 0:
                written.add(note)
            else:
                was_killed |= code == -signal.SIGKILL
                check(code == -signal.SIGKILL, f"ledger add: ended with {code}")
        longest *= 1.5 if was_killed else 1 / 1.5
        killed += was_killed
        done += 1
        found, broken = case.notes()
        check(broken == 0, f"after kill {done}: {broken} lines in part")
        check(len(found) == len(set(found)), f"after kill {done}: a line stands there twice")
        check(written <= set(found), f"after kill {done}: lost {written - set(found)}")
        check(set(found) <= started, f"after kill {done}: made up {set(found) - started}")
    check(case.finish(case.start("last")) == 0, "ledger add after all kills")
    found, _ = case.notes()
    check("last" in found and case.shown() == len(found), f"ledger show: {case.shown()} entries of {len(found)} lines")
    check(killed > times // 4, f"only {killed} of {times} writers were killed before they were done")
    said(f"ledger, killed: {times} times, {killed} before the end; nothing lost, nothing in part")
