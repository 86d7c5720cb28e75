"""Every analysis of every fixture: the package says what the program says, byte for byte, and fails as it fails."""

from __future__ import annotations

import inspect
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ROOT, RUNS, run_path

import haloscope
from haloscope._analyses import Analyses

METHODS = {
    name: method for name, method in vars(Analyses).items() if inspect.isfunction(method) and not name.startswith("_")
}
EXITS = {2: haloscope.UsageError, 3: haloscope.InputError, 4: haloscope.NothingError}


def words_of(name: str) -> list[str]:
    """The words of the command line that a method stands for."""
    source = inspect.getsource(METHODS[name])
    return source.split('self._ask(\n            "')[1].split('"')[0].split(" ")


def told(program: list[str], *args: str) -> tuple[int, str]:
    done = subprocess.run([*program, *args, "--format", "json"], capture_output=True, text=True, cwd=ROOT)
    return done.returncode, done.stdout


@pytest.mark.parametrize("run", [path.name for path in RUNS])
def test_the_package_says_what_the_program_says(program: list[str], run: str) -> None:
    other = RUNS[([path.name for path in RUNS].index(run) + 1) % len(RUNS)].name
    questions = []
    for name in METHODS:
        takes = inspect.signature(METHODS[name]).parameters
        if "others" in takes:
            questions.append((name, (run_path(other),), {}, [run_path(other)]))
        elif "other" in takes:
            questions.append((name, (run_path(other),), {}, [run_path(other)]))
        elif "baseline" in takes:
            questions.append((name, (run_path(other),), {}, ["--baseline", run_path(other)]))
        else:
            questions.append((name, (), {}, []))
    for part in ({"steady": True}, {"window": "1ms..3ms"}, {"modules": "jit"}):
        flags = ["--steady"] if "steady" in part else [f"--{key}={value}" for key, value in part.items()]
        questions.append(("ops", (), part, flags))
    with ThreadPoolExecutor(4) as pool:
        expected = list(pool.map(lambda q: told(program, *words_of(q[0]), run_path(run), *q[3]), questions))
    held = haloscope.open(run_path(run))
    answered = 0
    for (name, others, part, _), (code, json) in zip(questions, expected):
        try:
            report = getattr(held, name)(*others, **part)
        except haloscope.Error as error:
            assert code == error.exit_code and isinstance(error, EXITS[code]), (name, code, error)
            continue
        assert report.to_json() == json, name
        assert report.exit_code == code, name
        answered += 1
    assert answered >= 15, f"{answered} of {len(questions)} questions have an answer"


def test_no_run_is_needed_where_the_parameters_say_it_all(program: list[str]) -> None:
    text = next((ROOT / "fixtures" / "oom").rglob("*.txt"))
    code, json = told(program, "oom", str(text.relative_to(ROOT)))
    assert code == 0
    assert haloscope.oom(message=text.relative_to(ROOT)).to_json() == json
    assert haloscope.oom(message=text.read_text() + "\n").to_json() == json
    with open(text, encoding="utf-8") as file:
        assert haloscope.oom(message=file).to_json() == json
    with pytest.raises(haloscope.InputError, match="no/such.txt"):
        haloscope.oom(message="no/such.txt")


def test_values_of_python_are_words_of_the_command_line(program: list[str]) -> None:
    run = haloscope.open(run_path("tpu-train"))
    for given, flags in [
        ({"steps": 3}, ["--steps", "3"]),
        ({"steps": range(2, 5)}, ["--steps", "2,3,4"]),
        ({"steps": "2-4"}, ["--steps", "2-4"]),
        ({"window": ("5ms", "9ms")}, ["--window", "5ms..9ms"]),
        ({"window": (5_000_000_000, 9_000_000_000)}, ["--window", "5ms..9ms"]),
        ({"devices": ["tpu-w-0/TPU:0", "tpu-w-1/TPU:1"]}, ["--devices", "tpu-w-0/TPU:0,tpu-w-1/TPU:1"]),
        ({"hosts": "tpu-w-0"}, ["--hosts", "tpu-w-0"]),
    ]:
        code, json = told(program, "overview", run_path("tpu-train"), *flags)
        assert code == 0
        assert run.overview(**given).to_json() == json, given  # type: ignore[arg-type]
    for wrong in ({"steps": []}, {"window": (1, 2, 3)}, {"window": "3ms..1ms"}, {"hosts": "nobody"}, {"by": "x"}):
        with pytest.raises(haloscope.UsageError):
            run.ops(**wrong)  # type: ignore[arg-type]


def test_what_cannot_be_had_is_an_exception_of_its_kind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        haloscope.open(tmp_path / "nothing")
    assert isinstance(missing.value, haloscope.NotFoundError) and missing.value.exit_code == 3
    assert "pass the log folder" in str(missing.value) and missing.value.hint
    (tmp_path / "x.xplane.pb").write_bytes(b"no profile at all")
    with pytest.raises(OSError) as unreadable:
        haloscope.open(tmp_path).overview()
    assert isinstance(unreadable.value, haloscope.InputError)
    with pytest.raises(LookupError):
        haloscope.open(run_path("tpu-memory")).kernel_stages(op="matmul")
    with pytest.raises(KeyError, match="it has"):
        haloscope.open(run_path("cpu-train")).overview()["no_such_value"]
