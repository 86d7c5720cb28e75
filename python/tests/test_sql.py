"""SQL through the program that answers it, of which there is a stand-in here: `tests/query` has the real one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from conftest import run_path

import haloscope

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers with a table, or with what the SQL tells it to fail with."""
    rows = pa.table({"words": ["x"], "n": [None]}, schema=pa.schema([("words", pa.string()), ("n", pa.int64())]))
    with pa.ipc.new_file(tmp_path / "rows.arrow", rows.schema) as writer:
        writer.write_table(rows)
    program = tmp_path / "haloscope-query"
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$*" > "{tmp_path}/called"\n'
        "sql=$(cat)\n"
        'case "$sql" in fail*) echo "note: of no matter" >&2; echo "error: SQL: why" >&2; echo "hint: so" >&2; exit ${sql#fail };; esac\n'
        f'cat "{tmp_path}/rows.arrow"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def test_rows_are_arrow(stand_in: Path) -> None:
    run = haloscope.open(run_path("tpu-gate"))
    rows = run.sql("SELECT 1", timeout=5)
    assert isinstance(rows, haloscope.SqlRows) and len(rows) == 1
    assert rows.rows() == [{"words": "x", "n": None}]
    assert pa.table(rows).schema == rows.to_arrow().schema
    called = (stand_in / "called").read_text().split()
    assert called[:6] == ["--format", "arrow", "--timeout", "5.0", "--file=-", "--"] and os.path.isabs(called[6])
    run.sql("@hosts", run_path("tpu-train"))
    assert (stand_in / "called").read_text().split()[-1] == "@hosts"


def test_refusals_are_exceptions(stand_in: Path) -> None:
    run = haloscope.open(run_path("tpu-gate"))
    for code, kind in [(2, haloscope.UsageError), (3, haloscope.InputError), (4, haloscope.NothingError), (70, haloscope.BugError)]:
        with pytest.raises(kind) as caught:
            run.sql(f"fail {code}")
        assert (caught.value.message, caught.value.hint) == ("SQL: why", "so")


def test_without_the_program_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(haloscope.UsageError, match="cargo install"):
        haloscope.open(run_path("tpu-gate")).sql("SELECT 1")
