"""What clients ask: fixed questions with their answers, and random windows."""
import json
from urllib.parse import urlencode

# Reports of whole runs, with the parameters that pages give them.
REPORTS = ["overview", "ops", "op-profile", "steps", "idle", "hosts", "comm", "diagnose", "roofline", "memory-peak", "hlo-modules", "inspect"]
# Reports of a random window.
WINDOWS = ["overview", "ops", "op-profile", "idle"]
TIMELINE = ["tracks", "steps", "clock"]
# A refusal with this word says that the run holds nothing of the kind, which is an answer.
NOTHING = "nothing"
# Tracks of one tile: as many as a screen shows.
TRACKS = 12


class Wrong(Exception):
    """An answer that is not as it should be."""


class Run:
    """A run, its span in picoseconds and its tracks."""

    def __init__(self, listed, tracks):
        self.id, self.name, self.hosts = listed["id"], listed["name"], listed["hosts"]
        self.start, self.end = tracks["start_ps"], tracks["end_ps"]
        self.tracks = [t["id"] for group in tracks["groups"] for t in group["tracks"] if not t["counter"]]
        self.counters = [t["id"] for group in tracks["groups"] for t in group["tracks"] if t["counter"]]


class Fixed:
    """A question whose answer is known."""

    def __init__(self, kind, path, answer):
        self.kind, self.path, self.answer = kind, path, answer


def decoded(http, path):
    status, body = http.bytes(path)
    if status != 200:
        raise SystemExit(f"{status} of {path}: {body[:300]!r}")
    return json.loads(body)


def runs_of(http, most):
    listed = decoded(http, "/api/runs")["runs"]
    listed = listed[:most] if most else listed
    return [Run(run, decoded(http, "/api/timeline/tracks?" + urlencode({"run": run["id"]}))) for run in listed]


def fixed_questions(http, run):
    """The questions of a run that always have the same answer, each asked once."""
    of_run = {"run": run.id}
    paths = [("list", "/api/runs"), ("list", "/api/analyses")]
    paths += [("report", f"/api/report/{id}?{urlencode(of_run)}") for id in REPORTS]
    paths += [("report, steady", f"/api/report/overview?{urlencode({**of_run, 'steady': 'yes'})}")]
    paths += [("timeline, other", f"/api/timeline/{what}?{urlencode(of_run)}") for what in TIMELINE]
    named = {"run": run.name}
    paths += [("xprof, list", f"/data/plugin/profile/{what}?{urlencode(named)}") for what in ("run_tools", "module_list")]
    for tool in decoded(http, f"/data/plugin/profile/run_tools?{urlencode(named)}"):
        hosts = decoded(http, f"/data/plugin/profile/hosts?{urlencode({**named, 'tag': tool})}")
        asked = {**named, "tag": tool, "host": hosts[0]["hostname"]}
        if tool in ("memory_viewer", "graph_viewer"):
            continue  # They need a module; the reports of memory stand for them.
        paths.append(("xprof, tool", f"/data/plugin/profile/data?{urlencode(asked)}"))
    return [Fixed(kind, path, answered(http, path)) for kind, path in paths]


def is_answer(answer):
    """Whether this is an answer; that there is nothing to say of a run, or of a window of it, is one."""
    return answer.status == 200 or (answer.status == 422 and f'"kind":"{NOTHING}"' in answer.head)


def answered(http, path):
    answer = http.get(path)
    if not is_answer(answer):
        raise SystemExit(f"{answer} of {path}: {answer.start()}")
    return answer


def random_window(random, run):
    """A window from the whole run down to a thousandth of it."""
    whole = run.end - run.start
    length = max(1000, int(whole * 10 ** random.uniform(-3, 0)))
    start = run.start + random.randrange(max(1, whole - length))
    return start, start + length


def random_question(random, run):
    start, end = random_window(random, run)
    lucky = random.random()
    if lucky < 0.6:
        what = "tile" if lucky < 0.5 else random.choice(["window", "counters"] if run.counters else ["window"])
        of = run.counters if what == "counters" else run.tracks
        first = random.randrange(max(1, len(of)))
        tracks = ",".join(map(str, of[first:first + TRACKS]))
        query = {"run": run.id, "start": start, "end": end, "px": random.choice([390, 1280, 2560]), "tracks": tracks}
        kind = "tile" if what == "tile" else "timeline, other"
        return kind, f"/api/timeline/{what}?{urlencode(query)}"
    analysis = random.choice(WINDOWS)
    query = {"run": run.id, "window": f"{start}ps..{end}ps"}
    return "report, window", f"/api/report/{analysis}?{urlencode(query)}"
