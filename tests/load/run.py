#!/usr/bin/env python3
"""A hundred clients on one server: no error, the same answer to the same question, how long answers take, and flat memory.

    run.py --bin target/release/haloscope [--warm 60] [--seconds 60] [--clients 100] [--traces ../shared/traces] [FOLDER]

Serves FOLDER, else a log folder made of fixtures/runs and of the forged profiles below --traces. Each client looks at a run for
a while, as a page does, and then at another: reports of the whole run and of random windows, tiles and other parts of the
timeline, lists, XProf's routes. Every fixed question is asked once before, alone; under load its answer must be the same
bytes. Of random windows every tenth is asked twice. Memory is the server's resident set, sampled twice a second once the clients
have asked for a minute (--warm), in which runs are opened and columns are read; the median of the second half may lie 5% above that of
the first, and no more. Where it lies higher it is looked at for as long again: what is lost with each answer grows on, a step of the heap
does not.

Exit status 0 where all that holds. Needs Python 3.9 on Linux and no more. Times include this program's own, which has one
thread a client in one interpreter: they are upper bounds.
"""
import argparse
import json
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

from questions import Wrong, fixed_questions, is_answer, random_question, runs_of
from server import Server, log_folder, memory

# How much higher the median of the second half may lie: 5% in half a minute is less than a kilobyte kept an answer.
GROWTH = 0.05
# Questions that a client asks of one run before it goes to another.
STAY = 20
# Random windows that are asked twice, one in so many.
TWICE = 10


class Client(threading.Thread):
    """One who asks until told to stop."""

    def __init__(self, server, runs, fixed, seed, stop):
        super().__init__(daemon=True)
        self.http = server.connect()
        self.runs, self.fixed, self.stop = runs, fixed, stop
        self.random = random.Random(seed)
        self.took, self.wrong = [], []

    def run(self):
        while not self.stop.is_set() and len(self.wrong) < 10:
            run = self.random.choice(self.runs)
            for _ in range(STAY):
                if self.stop.is_set():
                    break
                try:
                    self.ask(run)
                except (OSError, Wrong) as error:
                    self.wrong.append(str(error))
                except Exception as error:  # noqa: BLE001  A client that dies silently would hide what it met.
                    self.wrong.append(f"{type(error).__name__}: {error}")
        self.http.close()

    def ask(self, run):
        if self.random.random() < 0.5:
            kind, path = random_question(self.random, run)
            first = self.timed(kind, path, self.stop)
            if not is_answer(first):
                raise Wrong(f"{first.status} of {path}: {first.start()}")
            if self.random.randrange(TWICE) == 0 and self.timed(kind, path, self.stop) != first:
                raise Wrong(f"two answers to {path}")
            return
        question = self.random.choice(self.fixed[run.id])
        answer = self.timed(question.kind, question.path, self.stop)
        if answer != question.answer:
            raise Wrong(f"{question.path}: alone {question.answer}, under load {answer}: {answer.start()}")

    def timed(self, kind, path, stop):
        begun = time.perf_counter()
        answer = self.http.get(path)
        if not stop.is_set():
            self.took.append((kind, time.perf_counter() - begun))
        return answer


def percentile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]


def table(took, seconds):
    """How long answers took, by kind, in milliseconds."""
    by_kind = {"all": [t for _, t in took]}
    for kind, t in took:
        by_kind.setdefault(kind, []).append(t)
    print(f"{'answers':<22}{'count':>9}{'per s':>9}{'p50 ms':>10}{'p99 ms':>10}{'max ms':>10}")
    for kind, values in sorted(by_kind.items(), key=lambda kv: (kv[0] != "all", kv[0])):
        values.sort()
        p50, p99 = percentile(values, 0.5) * 1e3, percentile(values, 0.99) * 1e3
        print(f"{kind:<22}{len(values):>9}{len(values) / seconds:>9.1f}{p50:>10.1f}{p99:>10.1f}{values[-1] * 1e3:>10.1f}")


def sample(pid, seconds):
    """Resident sets of the server in bytes while the clients ask: (second, all, of it the heap)."""
    samples, begun = [], time.monotonic()
    while (now := time.monotonic() - begun) < seconds:
        samples.append((now, *memory(pid)))
        time.sleep(0.5)
    return samples


def growth_of(samples):
    """How much higher the median of the second half lies than that of the first, a share of the first. Printed."""
    mib = 1 << 20
    middle = len(samples) // 2
    medians = [[statistics.median(s[i] for s in half) for i in (1, 2)] for half in (samples[:middle], samples[middle:])]
    (first, first_heap), (second, second_heap) = medians
    growth = second / first - 1
    print(f"memory, median of the first half {first / mib:.0f} MiB (heap {first_heap / mib:.0f}), of the second "
          f"{second / mib:.0f} MiB (heap {second_heap / mib:.0f}): {growth:+.1%}")
    steps = max(1, len(samples) // 12)
    print("memory over time, MiB: " + " ".join(f"{s[1] / mib:.0f}" for s in samples[::steps]))
    return growth


def grown(pid, seconds):
    """By how much memory grew too much, twice; `None` where it did so once or not at all. With it the seconds looked at."""
    first = growth_of(sample(pid, seconds))
    if first <= GROWTH:
        return None, seconds
    second = growth_of(sample(pid, seconds))
    return (second if second > GROWTH else None), 2 * seconds


def load(server, args):
    alone = server.connect()
    runs = runs_of(alone, args.runs)
    begun = time.monotonic()
    fixed = {run.id: fixed_questions(alone, run) for run in runs}
    count = sum(map(len, fixed.values()))
    at_rest = memory(server.pid)[0]
    print(f"{len(runs)} runs, {count} fixed questions, asked alone in {time.monotonic() - begun:.1f} s, "
          f"{at_rest / (1 << 20):.0f} MiB after; {args.clients} clients for {args.warm} and then {args.seconds} s")
    stop = threading.Event()
    clients = [Client(server, runs, fixed, args.seed + i, stop) for i in range(args.clients)]
    for client in clients:
        client.start()
    time.sleep(args.warm)
    for client in clients:
        client.took.clear()
    growth, seconds = grown(server.pid, args.seconds)
    stop.set()
    for client in clients:
        client.join(60)
    wrong = [text for client in clients for text in client.wrong]
    if any(client.is_alive() for client in clients):
        wrong.append("a question was not answered within a minute after the others")
    table([t for client in clients for t in client.took], seconds)
    if growth is not None:
        wrong.append(f"memory grew from half to half twice, the second time by {growth:.1%}; {GROWTH:.0%} is allowed")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--bin", default="target/release/haloscope")
    parser.add_argument("--warm", type=float, default=60, help="seconds of asking before anything is measured")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--runs", type=int, default=0, help="ask about the first so many runs only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--traces", type=pathlib.Path, default=pathlib.Path("../shared/traces"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="haloscope-load-") as temporary:
        folder = args.folder or log_folder(pathlib.Path(temporary) / "log", args.traces)
        with Server(args.bin, folder) as server:
            wrong = load(server, args)
            if not server.is_alive():
                wrong.append(f"the server ended: {server.said()}")
    for text in wrong[:20]:
        print(f"WRONG {text}", file=sys.stderr)
    print(json.dumps({"errors": len(wrong)}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
