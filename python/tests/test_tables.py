"""Reports, tables and events as Python has them."""

from __future__ import annotations

import json

import pytest
from conftest import run_path, xspaces

import haloscope


@pytest.fixture(scope="module")
def run() -> haloscope.Run:
    return haloscope.open(run_path("tpu-train"))


def test_a_report_has_what_its_json_has(run: haloscope.Run) -> None:
    report = run.overview()
    made = report.to_dict()
    assert list(report.values) == list(made["values"])
    for id, value in report.values.items():
        assert [value.value, value.unit, value.status] == [made["values"][id][key] for key in ("value", "unit", "status")]
    assert [finding.id for finding in report.findings] == [finding["id"] for finding in made["findings"]]
    assert list(report.tables) == [table["id"] for table in made["tables"]]
    assert report["step_count"].value == 8 and "step_count" in report and "nothing" not in report
    unknown = [value for value in run.compute().values.values() if value.status == "unknown"]
    assert all(value.value is None for value in unknown)
    assert "overview" in repr(report) and str(report)


def test_findings_speak_python() -> None:
    report = haloscope.open(run_path("tpu-input-bound")).diagnose()
    calls = [call for finding in report.findings for call in finding.see]
    assert calls and all(call.startswith("run.") for call in calls), calls
    run = haloscope.open(run_path("tpu-input-bound"))
    asked = [eval(call, {"run": run}) for call in calls if "show" not in call]
    assert asked and all(isinstance(report, haloscope.Report) for report in asked)
    from haloscope import _native

    for said, meant in [
        ("`haloscope ops RUN --by category --limit 3 --table ops`", '`run.ops(by="category")`'),
        ("`ops --on host` has them", '`run.ops(on="host")` has them'),
        ("a narrower `--window`", "a narrower `window=`"),
        ("`haloscope memory peak RUN`", "`run.memory_peak()`"),
        ("set `--xla_dump_to` and `--xla_jf_dump_to=DIR --xla_jf_dump_llo_proto=true`", None),
        ("`overview` is a word", None),
        ("`haloscope timeline RUN --window 1ms..2ms`", '`run.show(window="1ms..2ms")`'),
    ]:
        assert _native.in_python(said) == (meant or said)


def test_tables_are_arrow(run: haloscope.Run) -> None:
    pl, pa, pd = (pytest.importorskip(name) for name in ("polars", "pyarrow", "pandas"))
    report = run.ops()
    made = report.to_dict()["tables"][0]
    table = report.table()
    frame = table.to_polars()
    assert frame.columns == table.columns == [column["id"] for column in made["columns"]]
    assert [list(row) for row in frame.rows()] == made["rows"]
    arrow = pa.table(report)
    field = arrow.schema.field("self_ps")
    assert field.metadata[b"unit"] == b"ps" and field.metadata[b"doc"] and arrow.schema.field("self_ps").type == pa.int64()
    assert arrow.num_rows == len(table) == len(table.rows())
    assert table.to_pandas()["name"].tolist() == frame["name"].to_list() == table.to_dict()["name"]
    assert isinstance(table.to_pandas(), pd.DataFrame)
    # The stream can be taken again, by whoever takes Arrow.
    assert pl.DataFrame(table).equals(frame)
    for name in ("overview", "diagnose", "steps", "comm", "hosts", "input", "roofline", "hlo_modules"):
        for one in getattr(run, name)().tables.values():
            assert one.to_polars().height == len(one)


def test_events_are_those_of_the_file(run: haloscope.Run) -> None:
    pl = pytest.importorskip("polars")
    lines = run.lines()
    assert len(run.events()) == sum(line.events for line in lines)
    ops = next(line for line in lines if line.name == "XLA Ops" and line.plane == "/device:TPU:0")
    frame = run.events(ops).to_polars()
    assert frame.height == ops.events and frame["start_ps"].is_sorted()
    assert set(frame["line"].unique()) == {"XLA Ops"} and set(frame["host"].unique()) == {ops.host}
    assert run.events(ops.id).to_polars().equals(frame)
    both = run.events("XLA Ops", plane="TPU:0").to_polars()
    assert set(both["plane"].unique()) == {"/device:TPU:0"} and both.height > frame.height
    some = run.events(ops, name="fusion").to_polars()
    assert 0 < some.height < frame.height and some["name"].cast(pl.String).str.contains("fusion").all()
    with pytest.raises(haloscope.NothingError):
        run.events("no such line")
    with pytest.raises(haloscope.NothingError):
        run.events([])


def test_a_run_in_memory_answers_as_its_files() -> None:
    files = xspaces("tpu-input-bound")
    memory = haloscope.from_bytes({path.name: path.read_bytes() for path in files})
    assert memory.path is None and memory.hosts == haloscope.open(run_path("tpu-input-bound")).hosts
    own, other = memory.overview().to_dict(), haloscope.open(run_path("tpu-input-bound")).overview().to_dict()
    assert own["values"] == other["values"] and own["tables"] == other["tables"]
    alone = haloscope.from_bytes(xspaces("gpu-train")[0].read_bytes())
    assert alone.hosts == ["host"] and alone.kernels()
    with pytest.raises(haloscope.UsageError):
        haloscope.from_bytes({})
    with pytest.raises(haloscope.InputError):
        haloscope.from_bytes(b"no profile")


def test_kernel_times_are_milliseconds() -> None:
    data = xspaces("gpu-train")[0].read_bytes()
    table = haloscope.kernel_times(data).to_dict()
    kernels = haloscope.from_bytes(data).kernels().table("kernels").to_dict()
    assert table["name"] == kernels["name"] and table["count"] == kernels["occurrences"]
    assert table["total_ms"] == [ps / 1e9 for ps in kernels["total_ps"]]
    assert all(low <= mean <= high for low, mean, high in zip(table["min_ms"], table["mean_ms"], table["max_ms"]))
    ops = haloscope.kernel_times(xspaces("cpu-train")[0].read_bytes()).to_dict()
    assert ops["name"] and set(ops["min_ms"]) == {None}


def test_compare_and_check() -> None:
    same, slower = run_path("tpu-gate-again"), run_path("tpu-gate-slower")
    report = haloscope.compare(run_path("tpu-gate"), slower)
    assert report["verdict"].value == "slower" and json.loads(report.to_json())["analysis"] == "compare"
    held = haloscope.check(slower, run_path("tpu-gate"))
    assert held.passed is False and held.exit_code == 1
    assert haloscope.check(same, run_path("tpu-gate")).passed is True
    assert haloscope.check(same, [run_path("tpu-gate"), same]).passed is not False
    assert haloscope.check(same, claim="step_time<=100s").passed is True
    assert haloscope.check(same, claim=["step_time<=100s", "step_time<=1ps"]).passed is False


def test_notebooks_show_reports_and_pages(run: haloscope.Run, tmp_path: object) -> None:
    html = run.diagnose()._repr_html_()
    assert "<table>" in html and "<script" not in html and "<iframe" not in html
    table = run.ops().table()._repr_html_()
    assert "<td>" in table and "rows, of which" in table and "<script" not in table
    frame = run.show(height=300)._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" srcdoc="') and 'height="300"' in frame
    assert "allow-same-origin" not in frame and "http://" not in frame.split("srcdoc")[0]
    path = f"{tmp_path}/run.html"
    run.save_html(path, steady=True)
    with open(path, encoding="utf-8") as file:
        page = file.read()
    assert "<title>tpu-train/2026_01_01_00_00_00 · Haloscope report</title>" in page and 'id="data"' in page
