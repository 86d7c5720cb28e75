"""The notebook of the documentation runs, and shows what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT

NOTEBOOK = ROOT / "docs" / "python.ipynb"


def lines() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines() if line]


def test_the_notebook_is_fifteen_lines_and_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("pandas")
    assert len(lines()) == 15
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
    assert (tmp_path / "run.html").stat().st_size > 10_000


def test_the_notebook_runs_in_jupyter() -> None:
    client = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    made = nbformat.read(NOTEBOOK, as_version=4)
    client.NotebookClient(made, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}).execute()
    shown = [output.data["text/html"] for cell in made.cells for output in cell.get("outputs", []) if "data" in output and "text/html" in output.data]
    assert any("<iframe sandbox" in html for html in shown) and any("<table>" in html for html in shown)
    (ROOT / "run.html").unlink()
