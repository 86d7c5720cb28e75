"""Real processes that are stopped in the middle of what they do, and what is said of how they end."""
import json
import os
import pathlib
import queue
import random
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

# On a busy machine a process may have read the file before it can be stopped: so many times as many rounds are tried until one was in time.
PATIENCE = 6

failures = []


def check(holds, what):
    """Counts what does not hold, and prints it; what holds is counted by who asks."""
    if not holds:
        print("FAILED  " + what, flush=True)
        failures.append(what)
    return holds


def said(what):
    print("ok      " + what, flush=True)


def maps(pid, inode):
    """Whether a process has a file mapped, by the file's inode: names change."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return False
    return any(line.split()[4] == str(inode) for line in lines)


def stop_while_reading(process, path, longest):
    """Stops a process at a random moment after it mapped a file; False if it was done before."""
    inode = path.stat().st_ino
    while not maps(process.pid, inode):
        if process.poll() is not None:
            return False
        time.sleep(0.0005)
    time.sleep(random.uniform(0, longest))
    return stop(process)


def stop(process):
    if process.poll() is not None:
        return False
    os.kill(process.pid, signal.SIGSTOP)
    while True:
        # The state stands behind the name, which may hold anything.
        try:
            state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "T":
            return True
        if state == "Z":
            return False
        time.sleep(0.0005)


def go_on(process):
    os.kill(process.pid, signal.SIGCONT)


def age(path):
    """Makes a file look as if it had been written a while ago: what is new is waited for."""
    then = time.time() - 60
    os.utime(path, (then, then))


def put(path, content):
    """A file of this content under this name: another file than before."""
    part = path.with_name(path.name + ".new")
    part.write_bytes(content)
    age(part)
    part.rename(path)


def cut(path, size):
    os.truncate(path, size)
    age(path)


def overwrite(path, content):
    """Writes into the file, from its middle on first, and leaves its size as it is."""
    with open(path, "r+b") as file:
        half = len(content) // 2
        file.seek(half)
        file.write(content[half:])
        file.seek(0)
        file.write(content[:half])
    age(path)


def ended_well(process, what):
    """A process ends by itself and without a panic, whatever it says."""
    code = process.returncode
    return check(code is not None and code >= 0 and code != 70, f"{what}: ended with {code}")


class Server:
    """`haloscope serve` on a folder."""

    def __init__(self, binary, folder, env):
        command = [binary, "serve", folder, "--port", "0", "--no-token"]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.url = re.search(r"http://[^/]*", line).group(0)

    def get(self, address):
        """Status and body."""
        try:
            with urllib.request.urlopen(self.url + address, timeout=120) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Agent:
    """`haloscope mcp` on a folder, asked line by line."""

    def __init__(self, binary, folder, env):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process = subprocess.Popen([binary, "mcp", folder], env=env, **pipes)
        self.answers, self.number = queue.Queue(), 0
        threading.Thread(target=self.listen, daemon=True).start()
        client = {"name": "crash", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def listen(self):
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def begin(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})

    def answer(self):
        while True:
            message = self.answers.get(timeout=120)
            if message.get("id") == self.number:
                return message["result"]

    def ask(self, method, params):
        self.begin(method, params)
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
