"""Files that are cut, overwritten or replaced while they are mapped: by the command line, the server, and the tools for agents."""
import json
import random
import subprocess
import threading
import time

from processes import PATIENCE, Agent, Server, check, cut, ended_well, go_on, overwrite, put, said, stop_while_reading

FILE = "host0.xplane.pb"


class Case:
    """A log folder with one session, whose file is one of two."""

    def __init__(self, binary, folder, env, pair, rounds):
        self.binary, self.env, self.rounds = str(binary), env, rounds
        self.usual, self.slower = pair
        self.folder = folder
        session = folder / "plugins/profile/run"
        session.mkdir(parents=True)
        self.path = session / FILE

    def ways(self):
        """What may happen to the file: a name, what does it, and whether the answer stays what it was."""
        size = len(self.usual)
        return [
            ("cut to nothing", lambda: cut(self.path, 0), False),
            ("cut in the middle", lambda: cut(self.path, random.randrange(1, size)), False),
            ("overwritten in place", lambda: overwrite(self.path, self.slower), False),
            ("replaced", lambda: put(self.path, self.slower), True),
            ("removed", lambda: self.path.unlink(), True),
        ]

    def command(self, *words):
        return [self.binary, *words]

    def overview(self):
        return self.command("overview", str(self.folder), "--format", "json")

    def run(self):
        begun = time.monotonic()
        done = subprocess.run(self.overview(), env=self.env, capture_output=True)
        return done, time.monotonic() - begun


def command_line(case):
    """An answer is right, or an error that names the file."""
    put(case.path, case.usual)
    done, took = case.run()
    if not check(done.returncode == 0, f"overview of the whole file: {done.stderr.decode()}"):
        return
    right = done.stdout
    for name, change, stays in case.ways():
        refused = answered = 0
        for turn in range(case.rounds * PATIENCE):
            if turn >= case.rounds and (stays or refused):
                break
            put(case.path, case.usual)
            process = subprocess.Popen(case.overview(), env=case.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            is_stopped = stop_while_reading(process, case.path, took)
            if is_stopped:
                change()
                go_on(process)
            out, err = process.communicate()
            what = f"overview of a file that was {name}"
            if not ended_well(process, what):
                continue
            if process.returncode == 0:
                answered += 1
                check(out == right, f"{what}: another answer")
            else:
                refused += 1
                text = err.decode()
                check(process.returncode == 3 and f"{FILE} changed while it was read" in text, f"{what}: {text}")
                check(not out, f"{what}: an answer beside the error")
        check((refused == 0) if stays else (refused > 0), f"{name}: {refused} of {refused + answered} answers refused")
        said(f"command line, file {name}: {answered} answers, all right; {refused} refused by name")
    # The next question is of the file as it is.
    put(case.path, case.usual)
    check(case.run()[0].stdout == right, "overview after all this")


def exports(case):
    """A file that is written from a file that changes is not left behind."""
    out = case.folder / "out.json"
    refused = asked = 0
    put(case.path, case.usual)
    begun = time.monotonic()
    subprocess.run(case.command("export", str(case.folder), "-o", str(out)), env=case.env, check=True, capture_output=True)
    took, right = time.monotonic() - begun, out.read_bytes()
    while asked < case.rounds or (not refused and asked < case.rounds * PATIENCE):
        asked += 1
        out.unlink(missing_ok=True)
        put(case.path, case.usual)
        command = case.command("export", str(case.folder), "-o", str(out))
        process = subprocess.Popen(command, env=case.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if stop_while_reading(process, case.path, took):
            cut(case.path, len(case.usual) // 3)
            go_on(process)
        _, err = process.communicate()
        if not ended_well(process, "export of a file that was cut"):
            continue
        if process.returncode == 0:
            check(out.read_bytes() == right, "export of a file that was cut: another file")
        else:
            refused += 1
            check(f"{FILE} changed while it was read" in err.decode(), f"export: {err.decode()}")
            check(not list(case.folder.glob("out.json*")), "export: half a file is left behind")
    check(refused > 0, "no export was refused")
    said(f"export, file cut: {refused} of {asked} refused by name, nothing left behind")


def served(case):
    """As for the command line; and the next question finds the file as it is then."""
    address = "/api/report/overview?run=run"
    put(case.path, case.usual)
    server = Server(case.binary, case.folder, case.env)
    try:
        server_answers(case, server, address)
        tiles(case, server)
    finally:
        server.end()


def server_answers(case, server, address):
    begun = time.monotonic()
    status, right = server.get(address)
    took = time.monotonic() - begun
    check(status == 200, f"the server's overview of the whole file: {status}")
    put(case.path, case.slower)
    status, other = server.get(address)
    check(status == 200 and other != right, "the server's overview of the other file")
    for name, change, stays in case.ways():
        counts = {"as before": 0, "as it is now": 0, "refused by name": 0}
        asked = 0
        while asked < case.rounds or (not stays and counts["as before"] == asked < case.rounds * PATIENCE):
            asked += 1
            put(case.path, case.usual)
            got = []
            asking = threading.Thread(target=lambda got=got: got.append(server.get(address)))
            asking.start()
            if stop_while_reading(server.process, case.path, took):
                change()
                go_on(server.process)
            asking.join()
            what = f"the server's answer of a file that was {name}"
            for (status, body), again in ((got[0], False), (server.get(address), True)):
                kind = sort_of(status, body, right, other, name)
                counts[kind] = counts.get(kind, 0) + 1
                check(kind in ("as before", "as it is now", "refused by name"), f"{what}: {kind}")
                check(not again or kind == "as it is now" or name == "removed", f"{what}, asked again: {kind}")
        check(stays or counts["as before"] < asked, f"server, file {name}: nothing ever happened")
        said(f"server, file {name}: {counts}")
    put(case.path, case.usual)
    check(server.get(address) == (200, right), "the server's overview after all this")


def sort_of(status, body, right, other, name):
    """What an answer of the server is worth."""
    if status == 200:
        if body == right:
            return "as before"
        if body == other:
            return "as it is now" if name in ("overwritten in place", "replaced") else "an answer from nowhere"
        codes = [note["id"] for note in json.loads(body)["quality"]]
        return "as it is now" if name.startswith("cut") and "damaged_file" in codes else f"a wrong answer, {codes}"
    told = json.loads(body)["error"]
    if status in (409, 503) and FILE in told and ("changed while it was read" in told or "written" in told):
        return "refused by name"
    # Of nothing nothing can be said, nor of a run that is not there.
    return "as it is now" if status == {"cut to nothing": 422, "cut in the middle": 422, "removed": 404}.get(name) else f"{status} {told}"


def tiles(case, server):
    """The timeline's routes, while somebody writes and cuts without pause."""
    tracks = json.loads(server.get("/api/timeline/tracks?run=run")[1])
    end = tracks["end_ps"]
    ids = ",".join(str(track["id"]) for group in tracks["groups"] for track in group["tracks"])
    routes = [f"/api/timeline/{kind}?run=run&start=0&end={end}&px=500&tracks={ids}" for kind in ("tile", "window")]
    routes += [f"/api/timeline/totals?run=run&start=0&end={end // 2}&tracks={ids}", "/data/plugin/profile/data?run=run&tag=op_profile"]
    put(case.path, case.usual)
    right = {route: server.get(route) for route in routes}
    check(all(status == 200 for status, _ in right.values()), f"routes of the timeline: {[s for s, _ in right.values()]}")
    done = threading.Event()

    def disturb():
        while not done.is_set():
            cut(case.path, random.randrange(len(case.usual)))
            time.sleep(random.uniform(0, 0.01))
            put(case.path, case.usual)
            time.sleep(random.uniform(0, 0.05))

    writer = threading.Thread(target=disturb)
    writer.start()
    seen = {}
    for _ in range(case.rounds * 4):
        for route in routes:
            status, body = server.get(route)
            seen[status] = seen.get(status, 0) + 1
            check(status in (200, 400, 404, 409, 422, 503), f"{route}: {status} {body[:300]}")
            check(server.process.poll() is None, "the server ended")
    done.set()
    writer.join()
    put(case.path, case.usual)
    for route in routes:
        check(server.get(route) == right[route], f"{route}: another answer after all this")
    said(f"server, file cut and replaced without pause: answers by status {seen}, right afterwards")


def agents(case):
    """The tools for agents."""
    put(case.path, case.usual)
    agent = Agent(case.binary, case.folder, case.env)
    try:
        agent_answers(case, agent)
    finally:
        agent.end()


def agent_answers(case, agent):
    call = ("tools/call", {"name": "report", "arguments": {"analysis": "overview", "run": "run"}})
    begun = time.monotonic()
    right = agent.ask(*call)
    took = time.monotonic() - begun
    put(case.path, case.slower)
    other = agent.ask(*call)
    check(not right.get("isError") and not other.get("isError") and right != other, f"the tool overview: {right}")
    for name, change, stays in case.ways():
        refused = asked = 0
        for turn in range(case.rounds * PATIENCE):
            if turn >= case.rounds and (stays or refused):
                break
            asked += 1
            put(case.path, case.usual)
            agent.begin(*call)
            if stop_while_reading(agent.process, case.path, took):
                change()
                go_on(agent.process)
            result = agent.answer()
            if result.get("isError"):
                refused += 1
                told = json.dumps(result["content"])
                check(f"{FILE} changed while it was read" in told and "call again" in told, f"agents, file {name}: {told}")
            else:
                check(result == right, f"agents, file {name}: another answer")
        check((refused == 0) if stays else (refused > 0), f"{name}: {refused} of {asked} answers refused")
        said(f"agents, file {name}: {refused} of {asked} refused by name, all others right")
    put(case.path, case.usual)
    check(agent.ask(*call) == right, "the tool overview after all this")


def without_pause(case):
    """Somebody writes, cuts and replaces without pause: whatever is said, no process ends by a signal or a panic."""
    done = threading.Event()
    put(case.path, case.usual)

    def disturb():
        while not done.is_set():
            random.choice([
                lambda: cut(case.path, random.randrange(len(case.usual))),
                lambda: case.path.write_bytes(case.slower),
                lambda: overwrite(case.path, case.usual),
                lambda: put(case.path, case.usual),
            ])()
            time.sleep(random.uniform(0, 0.02))

    writer = threading.Thread(target=disturb)
    writer.start()
    codes = {}
    for round_ in range(case.rounds * 4):
        words = ["overview", "ops", "steps", "diagnose", "inspect"][round_ % 5]
        process = subprocess.run(case.command(words, str(case.folder)), env=case.env, capture_output=True)
        ended_well(process, f"{words} while somebody writes without pause: {process.stderr[-500:]}")
        codes[process.returncode] = codes.get(process.returncode, 0) + 1
    done.set()
    writer.join()
    said(f"command line, file written without pause: ended with codes {dict(sorted(codes.items()))}")


def all_of(case):
    command_line(case)
    exports(case)
    served(case)
    agents(case)
    without_pause(case)
