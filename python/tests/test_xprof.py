"""XProf's surface: the same types, content types and ways to fail as XProf 2.24.2, which is asked beside where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, python, xspaces

import haloscope
from haloscope import xprof

MODULES = {"tpu-memory": "jit_pallas_matmul", "gpu-train": "jit_convolution", "cpu-train": "jit_train_step"}
TOOLS = [
    "overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "memory_profile", "pod_viewer", "op_profile",
    "hlo_op_profile", "hlo_stats", "roofline_model", "graph_viewer", "memory_viewer", "megascale_stats", "inference_profile",
    "perf_counters", "kernel_utilization", "utilization_viewer", "smart_suggestion", "trace_viewer", "trace_viewer@", "nonsense",
    "tool_names", "op_profile^",
]  # fmt: skip


@pytest.fixture(params=list(MODULES))
def session(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    """A fixture in a folder of its own: XProf writes beside what it reads."""
    folder = tmp_path / "plugins" / "profile" / "run"
    folder.mkdir(parents=True)
    paths = [str(shutil.copy(path, folder)) for path in xspaces(request.param)]
    return request.param, paths


def asked(function: Callable[..., tuple[Any, str]], *args: Any) -> tuple[str, str]:
    """What a caller sees: type and content type, or what is raised."""
    try:
        data, content_type = function(*args)
    except Exception as error:
        return f"raises {type(error).__name__}", ""
    return type(data).__name__, content_type


def shapes(name: str, host: str) -> list[tuple[str, dict[str, Any]]]:
    """The shapes of calls that programs make."""
    module = MODULES[name]
    return [(tool, {}) for tool in TOOLS] + [
        ("megascale_stats", {"host": host}),
        ("megascale_stats", {"host": host, "perfetto": True}),
        ("memory_viewer", {"module_name": "no such module"}),
        ("memory_viewer", {"module_name": module, "memory_space": 0.5}),
        ("graph_viewer", {"graph_viewer_options": {"type": "graph", "module_name": module, "node_name": "no such node"}}),
        ("graph_viewer", {"graph_viewer_options": {"type": "short_txt", "module_name": "no such module"}}),
        ("trace_viewer@", {"trace_viewer_options": {"resolution": 8000, "start_time_ms": 0, "end_time_ms": 5}}),
        ("trace_viewer@", {"trace_viewer_options": {"resolution": 0.5}}),
        ("trace_viewer@", {"trace_viewer_options": {"format": "pb"}}),
        ("trace_viewer", {"trace_viewer_options": {"format": "pb"}}),
        ("op_profile", {"group_by": "category"}),
        ("op_profile", {"group_by": "nonsense"}),
        ("kernel_utilization", {"nobody": "knows"}),
        ("hlo_stats", {"host": host, "tqx": "out:csv;", "use_saved_result": False}),
    ]


def test_answers_have_the_shapes_of_xprof(session: tuple[str, list[str]]) -> None:
    theirs = pytest.importorskip("xprof.convert.raw_to_tool_data", reason="XProf is not installed")
    name, paths = session
    for tool, params in shapes(name, Path(paths[0]).name.removesuffix(".xplane.pb")):
        expected = asked(theirs.xspace_to_tool_data, paths, tool, params)
        assert asked(xprof.xspace_to_tool_data, paths, tool, params) == expected, (tool, params)
    assert xprof.xspace_to_tool_names(paths) == theirs.xspace_to_tool_names(paths)
    for bad in ([], ["/no/such.xplane.pb"]):
        assert xprof.xspace_to_tool_names(bad) == theirs.xspace_to_tool_names(bad)
        for tool in ("overview_page", "trace_viewer@", "graph_viewer"):
            expected = asked(theirs.xspace_to_tool_data, bad, tool, {})
            assert asked(xprof.xspace_to_tool_data, bad, tool, {}) == expected, (bad, tool)


def test_an_empty_table_is_xprofs(session: tuple[str, list[str]]) -> None:
    theirs = pytest.importorskip("xprof.convert.raw_to_tool_data", reason="XProf is not installed")
    name, paths = session
    own, other = (of.xspace_to_tool_data(paths, "kernel_stats", {})[0] for of in (xprof, theirs))
    assert json.loads(own)["cols"] == json.loads(other)["cols"]
    assert len(json.loads(own)["rows"]) == len(json.loads(other)["rows"]) and (name == "gpu-train") == bool(json.loads(own)["rows"])


def test_the_plugins_function_has_its_shape(session: tuple[str, list[str]]) -> None:
    _, paths = session
    data, is_there = xprof.xspace_to_tools_data(paths, "tool_names")
    assert isinstance(data, bytes) and is_there and data.decode().split(",") == xprof.xspace_to_tool_names(paths)
    data, is_there = xprof.xspace_to_tools_data(paths, "overview_page", None)
    assert is_there and json.loads(data)
    for args in ((paths, "nonsense"), (["/no/such.pb"], "hlo_stats"), ([], "hlo_stats")):
        data, is_there = xprof.xspace_to_tools_data(*args)
        assert isinstance(data, bytes) and data and not is_there
    with pytest.raises(TypeError, match="Unsupported option type for key 'x'"):
        xprof.xspace_to_tools_data(paths, "hlo_stats", {"x": 0.5})
    named = [os.path.basename(path) for path in paths]
    spaces = [Path(path).read_bytes() for path in paths]
    own = xprof.xspace_to_tools_data_from_byte_string(spaces, named, "hlo_stats")
    assert own == xprof.xspace_to_tools_data(paths, "hlo_stats")
    with pytest.raises(ValueError, match="must match"):
        xprof.xspace_to_tools_data_from_byte_string(spaces, [], "hlo_stats")


def test_what_sessions_give_is_taken_as_files_are() -> None:
    path = xspaces("tpu-memory")[0]
    data = haloscope.ProfileData.from_file(path)
    for given in (data, [data]):
        assert xprof.xspace_to_tool_data(given, "hlo_stats", {})[0] == xprof.xspace_to_tool_data([path], "hlo_stats", {})[0]
        assert "hlo_stats" in xprof.xspace_to_tool_names(given)

    class Session:
        def export_profile_data(self, folder: str) -> None:
            target = Path(folder) / "plugins" / "profile" / "now"
            target.mkdir(parents=True)
            shutil.copy(path, target / "host.xplane.pb")

    assert xprof.xspace_to_tool_data(Session(), "hlo_stats", {})[0] == xprof.xspace_to_tool_data(str(path), "hlo_stats", {})[0]


def test_nothing_is_written_beside_a_run_unless_asked_for(session: tuple[str, list[str]]) -> None:
    name, paths = session
    folder = Path(paths[0]).parent
    before = sorted(folder.iterdir())
    for tool, params in shapes(name, "host"):
        asked(xprof.xspace_to_tool_data, paths, tool, params)
    assert sorted(folder.iterdir()) == before
    xprof.xspace_to_tool_data(paths, "hlo_stats", {}, write_hlo=True)
    protos = list(folder.glob("*.hlo_proto.pb"))
    assert any(proto.name.startswith(f"{MODULES[name]}(") for proto in protos)
    assert all(haloscope.open(proto).hlo_modules() for proto in protos)


def test_callers_that_look_for_hlo_beside_a_run(session: tuple[str, list[str]]) -> None:
    """As TraceLens asks: for the tools, for a file that it then expects beside the run, for a graph of the folder."""
    name, paths = session
    folder = Path(paths[0]).parent
    ask = """
import glob, json, os
if os.environ["OF"] == "haloscope":
    import haloscope.xprof
    haloscope.xprof.install(write_hlo=True)
from xprof.convert import raw_to_tool_data as convert
folder, module = os.environ["FOLDER"] + "/", os.environ["MODULE"]
convert.xspace_to_tool_names([os.environ["XSPACE"]])
[found] = glob.glob(folder + module + "*hlo_proto.pb")
options = {"node_name": "", "module_name": found.split("/")[-1].rsplit(".", 2)[0], "graph_width": 2, "show_metadata": True, "type": "long_txt"}
data, _ = convert.xspace_to_tool_data([folder], "graph_viewer^", {"graph_viewer_options": options})
lines = [line.split(" = ")[0].strip() for line in data.decode().splitlines() if " = " in line]
print(json.dumps(lines))
"""
    where = {"FOLDER": str(folder), "MODULE": MODULES[name], "XSPACE": paths[0]}
    own = python(ask, OF="haloscope", **where)
    assert own.returncode == 0 and len(json.loads(own.stdout)) > 3, own.stderr
    pytest.importorskip("xprof", reason="XProf is not installed")
    for file in folder.glob("*.hlo_proto.pb"):
        file.unlink()
    assert json.loads(python(ask, OF="xprof", **where).stdout) == json.loads(own.stdout)


def test_the_same_numbers_as_the_program(program: list[str], session: tuple[str, list[str]]) -> None:
    _, paths = session
    for tool in ("hlo_stats", "op_profile", "roofline_model"):
        done = subprocess.run([*program, "xprof", tool, paths[0]], capture_output=True, cwd=ROOT)
        assert xprof.xspace_to_tool_data(paths, tool, {})[0] == done.stdout


@pytest.mark.parametrize("more", [{}, {"limit": 3}, {"limit": 0}, {"kernel_name": "nothing"}, {"trace_matchers": ("fusion",)}])
@pytest.mark.parametrize("name", ["tpu-memory", "tpu-decode", "gpu-train"])
def test_kernel_stats_are_xprofs(name: str, more: dict[str, Any]) -> None:
    theirs = pytest.importorskip("xprof.cli.tools.get_kernel_stats_tool", reason="XProf is not installed")
    path = xspaces(name)[0]
    for summary in (False, True):
        own = json.loads(xprof.compute_kernel_stats(path, include_summary=summary, **more))
        # In their own cache of a day, an answer to another file would be one to this.
        other = json.loads(theirs.compute_kernel_stats(str(path), include_summary=summary, bypass_cache=True, **more))
        if "info" in other:
            assert set(own) == {"info"}
            continue
        assert own == other


def test_kernel_stats_take_what_callers_have() -> None:
    path = xspaces("gpu-train")[0]
    data = path.read_bytes()
    with pytest.warns(DeprecationWarning):
        made = xprof.compute_kernel_stats(data, output_format="dict", include_summary=True)
    again = xprof.compute_kernel_stats(haloscope.ProfileData.from_file(path), include_summary=True)
    assert json.loads(again) == made and made["total_device_duration_us"] > 0
    assert xprof.compute_kernel_stats(path, output_format="markdown").startswith("# Top Kernels by Duration")
    assert json.loads(xprof.compute_kernel_stats({"kernel_records": made["kernel_records"]}, limit=2))[1:]
    with pytest.raises(ValueError):
        xprof.compute_kernel_stats()
    with pytest.raises(FileNotFoundError):
        xprof.compute_kernel_stats("/no/such.xplane.pb")


def test_install_puts_it_in_xprofs_place() -> None:
    path = xspaces("tpu-memory")[0]
    done = python(
        "import haloscope.xprof; haloscope.xprof.install()\n"
        "from xprof.convert import raw_to_tool_data\n"
        "from xprof.convert.raw_to_tool_data import xspace_to_tool_data, xspace_to_tool_names\n"
        "from xprof.convert import _pywrap_profiler_plugin\n"
        "from xprof.profile_data import ProfileData\n"
        "from xprof.cli.tools import get_kernel_stats_tool\n"
        f"path = {str(path)!r}\n"
        "assert 'hlo_stats' in xspace_to_tool_names([path])\n"
        "data, kind = xspace_to_tool_data([path], 'hlo_stats', {})\n"
        "assert kind == 'application/json' and data == _pywrap_profiler_plugin.xspace_to_tools_data([path], 'hlo_stats')[0]\n"
        "data, kind = raw_to_tool_data.xspace_to_tools_data_from_byte_string([open(path, 'rb').read()], ['h.xplane.pb'], 'hlo_stats', {})\n"
        "assert kind == 'application/json' and data\n"
        "assert get_kernel_stats_tool.compute_kernel_stats(ProfileData.from_file(path))\n"
        "print('done')"
    )
    assert done.stdout == "done\n", done.stderr
