"""The index and its folder: processes killed while they write it, files of it damaged or cut, a disk that is full, a folder that
cannot be written, a profile that changes while it is indexed."""
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time

from processes import PATIENCE, check, cut, ended_well, go_on, overwrite, put, said, stop_while_reading

FILE = "host0.xplane.pb"
# A little more than a file must have been left alone before it is indexed, in seconds.
SETTLED = 2.2
QUESTIONS = [["overview"], ["steps"], ["ops", "--window", "100ms..300ms"]]


class Case:
    """A run with a cache of its own, and what is right to say of it."""

    def __init__(self, binary, folder, pair):
        self.binary, self.folder, self.cache = str(binary), folder, folder / "cache"
        self.usual, self.slower = pair
        session = folder / "logs/plugins/profile/run"
        session.mkdir(parents=True)
        self.logs, self.path = folder / "logs", session / FILE
        put(self.path, self.slower)
        self.slower_right = [self.ask(question, cache="off").stdout for question in QUESTIONS]
        self.put(self.usual)
        self.right = [self.ask(question, cache="off").stdout for question in QUESTIONS]
        check(all(self.right) and self.right != self.slower_right, "the two profiles have no different answers")
        begun = time.monotonic()
        done = self.index()
        self.took = time.monotonic() - begun
        check(done.returncode == 0, f"index: {done.stderr.decode()}")

    def put(self, content):
        """Puts a profile in place, and waits until it counts as one that nobody writes to."""
        put(self.path, content)
        time.sleep(SETTLED)

    def env(self, cache=None):
        return {**os.environ, "HALOSCOPE_CACHE": str(cache or self.cache)}

    def start(self, words, cache=None, **more):
        command = [self.binary, *words]
        return subprocess.Popen(command, env=self.env(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def finish(self, process):
        out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def ask(self, question, cache=None, **more):
        return self.finish(self.start([*question, str(self.logs), "--format", "json"], cache, **more))

    def index(self, cache=None, **more):
        return self.finish(self.start(["index", str(self.logs)], cache, **more))

    def forget_answers(self):
        """Only the index is left, so that it is what the next question is answered from."""
        shutil.rmtree(self.cache / "answers", ignore_errors=True)

    def kept(self):
        """Files of the index, the largest first."""
        return sorted((self.cache / "index").rglob("*.kept"), key=lambda path: -path.stat().st_size)

    def is_right(self, what, cache=None, right=None, **more):
        """Asks one of the questions; the answer."""
        which = random.randrange(len(QUESTIONS))
        done = self.ask(QUESTIONS[which], cache, **more)
        if ended_well(done, what):
            said = done.stderr.decode()
            check(done.returncode == 0, f"{what}: {QUESTIONS[which]} ended with {done.returncode}: {said}")
            check(done.stdout == (right or self.right)[which], f"{what}: another answer to {QUESTIONS[which]}")
        return done


def kills(case, times):
    """A process that writes the index, or two, or one that answers and learns, killed at any moment: the next answer is right."""
    landed = left = 0
    # How long one of each kind is let run at most, in seconds: so that about half of them are killed before they are done,
    # however busy the machine is and however much of their work is done already.
    longest = [case.took * 1.2] * 3
    round_ = 0
    # Whether a process is killed before it is done is chance: it goes on until enough of them were.
    while round_ < times or (landed <= times // 3 and round_ < 4 * times):
        if round_ % 3 == 0:
            shutil.rmtree(case.cache, ignore_errors=True)
        elif round_ % 3 == 1:
            case.forget_answers()
        kinds = [["index", str(case.logs)]] * (1 + (round_ % 5 == 0))
        if round_ % 7 == 0:
            kinds = [[*QUESTIONS[0], str(case.logs)]]
        processes = [case.start(kind) for kind in kinds]
        time.sleep(random.uniform(0, longest[round_ % 3]))
        for process in processes:
            process.send_signal(signal.SIGKILL)
        was_killed = any([case.finish(process).returncode == -signal.SIGKILL for process in processes])
        longest[round_ % 3] *= 1.5 if was_killed else 1 / 1.5
        landed += was_killed
        left += bool(list(case.cache.rglob("*.tmp")))
        case.is_right(f"after kill {round_}")
        round_ += 1
    check(landed > times // 3, f"only {landed} of {round_} processes were killed before they were done")
    # What the dead left is swept once it is old enough to be nobody's.
    for path in case.cache.rglob("*.tmp"):
        os.utime(path, (time.time() - 600,) * 2)
    done = case.index()
    check(done.returncode == 0, f"index after all kills: {done.stderr.decode()}")
    check(not list(case.cache.rglob("*.tmp")), "temporary files of dead processes are left")
    case.forget_answers()
    case.is_right("after all kills")
    said(f"index, killed: {round_} times, {landed} before the end, {left} with half a file left; every next answer right")


def damage(case, times):
    """Bytes of the index that changed on the disk are found out before they are used."""
    size = 0
    for round_ in range(times):
        case.index()
        case.forget_answers()
        path = random.choice(case.kept())
        size = path.stat().st_size
        way = round_ % 4
        if way == 0:
            cut(path, random.randrange(size))
        else:
            with open(path, "r+b") as file:
                file.seek(random.randrange(size))
                if way == 1:
                    byte = file.read(1)
                    file.seek(-1, os.SEEK_CUR)
                    file.write(bytes([byte[0] ^ 1 << random.randrange(8)]))
                elif way == 2:
                    file.write(bytes(4096))
                else:
                    file.seek(0, os.SEEK_END)
                    file.write(random.randbytes(random.randrange(1, 100)))
        case.is_right(f"index damaged, round {round_}")
    said(f"index, damaged on the disk: {times} times, every answer right")


def cut_while_mapped(case, times):
    """An index file that is cut while it is mapped: a right answer, or an error that names it, then a right answer."""
    case.index()
    case.forget_answers()
    begun = time.monotonic()
    case.is_right("from the index")
    took = time.monotonic() - begun
    refused = stopped = rounds = 0
    while rounds < times or (not stopped and rounds < times * PATIENCE):
        rounds += 1
        case.index()
        case.forget_answers()
        path = case.kept()[0]
        which = random.randrange(len(QUESTIONS))
        process = case.start([*QUESTIONS[which], str(case.logs), "--format", "json"])
        if stop_while_reading(process, path, took / 2):
            stopped += 1
            cut(path, random.choice([0, 100, path.stat().st_size // 2]))
            go_on(process)
        done = case.finish(process)
        if not ended_well(done, "an index file was cut while it was mapped"):
            continue
        if done.returncode == 0:
            check(done.stdout == case.right[which], f"an index file was cut while it was mapped: another answer: {done.stdout[:2000]}")
        else:
            refused += 1
            text = done.stderr.decode()
            check(f"{path.name} changed while it was read" in text, f"an index file was cut while it was mapped: {text}")
        case.forget_answers()
        case.is_right("after an index file was cut")
    check(stopped > 0, "no process was stopped while it had the index mapped")
    said(f"index, cut while mapped: {stopped} of {rounds}, {refused} refused by name, the others and all next answers right")


def changing(case, times):
    """A profile that is written to or replaced while it is indexed: nothing is kept under the wrong name."""
    stopped = rounds = 0
    while rounds < times or (not stopped and rounds < times * PATIENCE):
        rounds += 1
        shutil.rmtree(case.cache, ignore_errors=True)
        case.put(case.usual)
        process = case.start(["index", str(case.logs)])
        if stop_while_reading(process, case.path, case.took):
            stopped += 1
            (overwrite if rounds % 2 else put)(case.path, case.slower)
            go_on(process)
            right = case.slower_right
        else:
            right = case.right
        done = case.finish(process)
        ended_well(done, "a profile changed while it was indexed")
        case.is_right("a profile changed while it was indexed", right=right)
        # The same once it counts as settled.
        time.sleep(SETTLED)
        case.is_right("a profile changed while it was indexed, later", right=right)
    case.put(case.usual)
    check(stopped > 0, "no process was stopped while it indexed")
    said(f"index, profile changed meanwhile: {stopped} of {rounds}, every next answer that of the file as it is")


@contextlib.contextmanager
def mounted(folder, *how):
    """A mount at a folder; yields whether there is one: that takes root and a kernel that lets it."""
    folder.mkdir(parents=True, exist_ok=True)
    there = all(subprocess.run(["mount", *each, str(folder)], capture_output=True).returncode == 0 for each in how)
    try:
        yield there
    finally:
        subprocess.run(["umount", str(folder)], capture_output=True)


def noted(done, what):
    """One short line says that the cache could not be written."""
    lines = [line for line in done.stderr.decode().splitlines() if "cache" in line]
    check(len(lines) == 1 and len(lines[0]) < 300, f"{what}: expected one line about the cache, found {lines}")


def refuses(case, what, cache, **more):
    """`index`, which is asked to write, says that it cannot, with exit code 3."""
    done = case.index(cache, **more)
    text = done.stderr.decode()
    if ended_well(done, what):
        check(done.returncode == 3 and "cannot" in text, f"{what}: index ended with {done.returncode}: {text}")


def full_disk(case):
    """A disk without room costs a note."""
    # Of this profile alone: what others left would make the disks too large.
    shutil.rmtree(case.cache, ignore_errors=True)
    case.index()
    whole = sum(path.stat().st_size for path in case.kept())
    for room in [4096, whole // 8, whole // 2, whole - 65536]:
        folder = case.folder / f"full-{room}"
        with mounted(folder, ["-t", "tmpfs", "-o", f"size={room},mode=700", "tmpfs"]) as there:
            if not there:
                break
            what = f"a disk of {room} bytes"
            for _ in range(3):
                case.is_right(what, folder)
            if room == 4096:
                noted(case.is_right(what, folder), what)
            refuses(case, what, folder)
            check(not list(folder.rglob("*.tmp")), f"{what}: half a file is left")
            case.is_right(what, folder)
    else:
        said(f"disks of 4 kB to almost the {whole} bytes of the index: every answer right, index says that it cannot, nothing half-written left")
        return
    print("skipped: cannot mount a small disk here; files are limited in size in its place")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (whole // 2, whole // 2))

    folder = case.folder / "limited"
    more = dict(preexec_fn=limit, restore_signals=False)
    case.is_right("files of half an index at most", folder, **more)
    refuses(case, "files of half an index at most", folder, **more)
    check(not list(folder.rglob("*.tmp")), "files of half an index at most: half a file is left")
    said("files limited to half an index: answers right, index says that it cannot, nothing half-written left")


def read_only(case):
    """A folder that cannot be written costs a note; what is in it is used."""
    wrong = case.folder / "wrong"
    wrong.write_text("a file in the folder's place")
    noted(case.is_right("a file in the cache's place", wrong), "a file in the cache's place")
    refuses(case, "a file in the cache's place", wrong)
    case.is_right("no folder can be made", "/proc/none/haloscope")
    kinds = "a file in its place"
    empty = case.folder / "read-only"
    with mounted(empty, ["-t", "tmpfs", "-o", "ro", "tmpfs"]) as there:
        if there:
            kinds += ", a read-only disk"
            noted(case.is_right("a read-only cache", empty), "a read-only cache")
            refuses(case, "a read-only cache", empty)
    case.index()
    case.forget_answers()
    with mounted(case.cache, ["--bind", str(case.cache)], ["-o", "remount,ro,bind"]) as there:
        if there:
            kinds += ", a read-only cache with an index"
            for _ in range(5):
                case.is_right("a read-only cache with an index")
    said(f"cache folder cannot be written ({kinds}): every answer right, a note says it")


def all_of(case, kill_times, rounds):
    kills(case, kill_times)
    damage(case, rounds * 3)
    cut_while_mapped(case, rounds)
    changing(case, max(rounds // 2, 4))
    full_disk(case)
    read_only(case)
