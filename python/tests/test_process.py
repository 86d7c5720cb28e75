"""The package inside of a process of somebody else: threads, forks, Ctrl-C, bus errors, two builds, and import."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ROOT, python, run_path, xspaces

import haloscope

ASK = "import haloscope; run = haloscope.open('fixtures/runs/tpu-train'); report = run.overview().to_json()\n"


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_child_answers(method: str) -> None:
    code = (
        "import multiprocessing, sys, time\n"
        "def ask(path):\n"
        "    import haloscope\n"
        "    return haloscope.open(path).overview().to_json()\n"
        "def own(_):\n"
        "    return RUN.diagnose().to_json()\n"
        "if __name__ == '__main__':\n"
        "    import haloscope\n"
        "    RUN = haloscope.open('fixtures/runs/tpu-train')\n"
        "    expected, diagnosed = RUN.overview().to_json(), RUN.diagnose().to_json()\n"
        f"    context = multiprocessing.get_context('{method}')\n"
        "    begun = time.time()\n"
        "    with context.Pool(2) as pool:\n"
        "        assert pool.map(ask, ['fixtures/runs/tpu-train'] * 4) == [expected] * 4\n"
        f"        assert '{method}' != 'fork' or pool.map(own, range(2)) == [diagnosed] * 2\n"
        "    print(round(time.time() - begun, 2))\n"
    )
    script = ROOT / "target" / f"fork_{method}.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(code)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(haloscope.__file__).parents[1])])}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    # Alone it takes a few tenths; the machine may be busy.
    assert float(done.stdout) < 5, f"{done.stdout} s"


def test_a_child_of_a_forked_child_answers() -> None:
    fork = (
        "import os\n"
        "def child(depth):\n"
        "    pid = os.fork()\n"
        "    if pid:\n"
        "        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0\n"
        "        return\n"
        "    assert run.diagnose().to_json() and haloscope.open('fixtures/runs/cpu-train').overview().to_json()\n"
        "    if depth: child(depth - 1)\n"
        "    os._exit(0)\n"
        "child(2); child(0); assert run.overview().to_json() == report\n"
    )
    done = python(ASK + fork, timeout=30)
    assert done.returncode == 0, done.stderr


def test_many_threads_ask_at_once() -> None:
    run = haloscope.open(run_path("tpu-train"))
    names = ["overview", "ops", "steps", "diagnose", "comm", "idle", "hlo_modules", "compute"] * 4
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda name: getattr(run, name)().to_json(), names))
    alone = {name: getattr(haloscope.open(run_path("tpu-train")), name)().to_json() for name in set(names)}
    assert answers == [alone[name] for name in names]


@pytest.mark.skipif(sys.platform == "win32", reason="signals as Unix has them")
def test_ctrl_c_ends_a_call(tmp_path: Path) -> None:
    # A file of many events, made of one of a fixture's lines again and again: a question of it takes long enough to be stopped.
    big = tmp_path / "big.xplane.pb"
    with open(big, "wb") as file:
        space = xspaces("cpu-train")[0].read_bytes()
        for _ in range(150):
            file.write(space)
    code = (
        "import haloscope, os, signal, threading, time\n"
        f"run = haloscope.open({str(big)!r})\n"
        "at = []\n"
        "def press():\n"
        "    time.sleep(0.3); at.append(time.time()); os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=press).start()\n"
        "try:\n"
        "    while True: haloscope.open(run.path).inspect(selfcheck=True); run = haloscope.open(run.path); run.diagnose()\n"
        "except KeyboardInterrupt:\n"
        "    print(time.time() - at[0])\n"
        "assert haloscope.open('fixtures/runs/cpu-train').overview()['step_count'] is not None\n"
    )
    took = []
    for _ in range(3):
        done = python(code)
        assert done.returncode == 0, done.stderr
        took.append(float(done.stdout))
    # 0.2 s on a machine that does nothing else.
    assert min(took) < 0.4, took


@pytest.mark.skipif(sys.platform == "win32", reason="bus errors as Unix has them")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_is_cut_is_an_exception_whoever_else_hears_of_bus_errors(tmp_path: Path, when: str) -> None:
    path = tmp_path / "host.xplane.pb"
    shutil.copy(xspaces("cpu-train")[0], path)
    listen = "import faulthandler; faulthandler.enable()\n"
    code = (
        "import haloscope, os\n"
        + (listen if when == "before" else "")
        + f"run = haloscope.open({str(path)!r}); run.hosts\n"
        + (listen if when == "after" else "")
        + f"os.truncate({str(path)!r}, 4096)\n"
        "try:\n"
        "    run.overview()\n"
        "except haloscope.ChangedError as error:\n"
        "    print('changed', error)\n"
    )
    done = python(code)
    assert done.returncode == 0 and done.stdout.startswith("changed"), (done.returncode, done.stdout, done.stderr)
    # Bus errors of others still end the process as they would, and are told by who was asked to.
    other = python(code.split("os.truncate")[0] + "import signal; os.kill(os.getpid(), signal.SIGBUS)\n")
    assert other.returncode == -7 or other.returncode < 0
    assert "Bus error" in other.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the module's file is found by /proc")
def test_two_builds_share_no_answer(tmp_path: Path) -> None:
    package = Path(haloscope.__file__).parent
    # Of what is answered at once nothing is kept, nor of a file that was written just now.
    big = tmp_path / "big.xplane.pb"
    big.write_bytes(xspaces("cpu-train")[0].read_bytes() * 60)
    time.sleep(2.2)
    code = (
        f"import haloscope, os; run = haloscope.open({str(big)!r}); run.diagnose()\n"
        "print(sum(name.endswith('.kept') for _, _, names in os.walk(os.environ['HALOSCOPE_CACHE'] + '/answers') for name in names))\n"
    )
    kept = []
    for build in ("one", "other", "one"):
        home = tmp_path / build
        if not home.exists():
            shutil.copytree(package, home / "haloscope", symlinks=False)
            module = next((home / "haloscope").glob("_native*.so"))
            with open(module, "ab") as file:
                file.write(build.encode())
        done = python(code, HALOSCOPE_CACHE=str(tmp_path / "cache"), PYTHONPATH=str(home))
        assert done.returncode == 0, done.stderr
        kept.append(int(done.stdout))
    assert kept == [1, 2, 2], "the other build has an answer of its own, and the first finds its own again"


def test_a_panic_is_an_exception() -> None:
    assert issubclass(haloscope.BugError, RuntimeError) and haloscope.BugError.exit_code == 70


def test_import_takes_no_other_package(capsys: pytest.CaptureFixture[str]) -> None:
    times = []
    for _ in range(5):
        code = (
            "import sys, time; begun = time.perf_counter(); import haloscope; print(time.perf_counter() - begun)\n"
            "print(sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 'polars', 'pandas', 'pyarrow', 'jax'}))\n"
        )
        done = python(code)
        assert done.returncode == 0, done.stderr
        seconds, others = done.stdout.splitlines()
        assert others == "[]"
        times.append(float(seconds))
    with capsys.disabled():
        print(f"\nimport haloscope: {statistics.median(times) * 1e3:.0f} ms")


def test_the_program_is_in_the_package(program: list[str]) -> None:
    own = [sys.executable, "-m", "haloscope"]
    done = subprocess.run([*own, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and haloscope.__version__ in done.stdout
    wrong = subprocess.run([*own, "nonsense"], capture_output=True, text=True)
    assert wrong.returncode == 2 and wrong.stdout == ""
    for args in (["overview", run_path("cpu-train")], ["check", run_path("tpu-gate-slower"), "--claim", "step_time<=1ps"]):
        one, other = (subprocess.run([*way, *args], capture_output=True, cwd=ROOT) for way in (own, program))
        assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


def test_errors_survive_a_process_pool() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(haloscope.NotFoundError("cannot read x", "pass y")))
    assert (error.message, error.hint, str(error)) == ("cannot read x", "pass y", "cannot read x\npass y")
    begun = time.time()
    with pytest.raises(haloscope.NotFoundError):
        haloscope.open("/nothing/here")
    assert time.time() - begun < 5
