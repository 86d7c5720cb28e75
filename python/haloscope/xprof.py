"""XProf's Python surface, answered by haloscope: the same names, types, content types and ways to fail.

    from haloscope.xprof import xspace_to_tool_data      # instead of xprof.convert.raw_to_tool_data
    haloscope.xprof.install()                            # or: `import xprof.convert...` finds these

Nothing is written beside a run; `write_hlo=True` writes the `*.hlo_proto.pb` that some callers look for.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Union

from . import _native
from ._errors import Error, InputError
from ._native import ProfileData

__all__ = [
    "ProfileData",
    "compute_kernel_stats",
    "install",
    "xspace_to_tool_data",
    "xspace_to_tool_names",
    "xspace_to_tools_data",
    "xspace_to_tools_data_from_byte_string",
]

#: Options that only say where XProf keeps results, or what its page looks like.
_OF_XPROF = {"use_saved_result", "refresh_suggestion"}
_Spaces = Union[Sequence[Any], Any]


def xspace_to_tool_names(xspace_paths: _Spaces, *, write_hlo: bool = False) -> list[str]:
    """The names of the tools that have something to show for a run; none where it cannot be read."""
    try:
        if write_hlo:
            _write_hlo_of(_listed(xspace_paths))
        return _native.tool_names(_spaces(xspace_paths)).split(",")
    except Error:
        return []


def xspace_to_tool_data(
    xspace_paths: _Spaces,
    tool: str,
    params: Mapping[str, Any] | None = None,
    xspace_wrapper_func: Any = None,
    *,
    write_hlo: bool = False,
) -> tuple[Any, str]:
    """What XProf's page gets of a tool: data and content type. The data are bytes; text of `trace_viewer`; `None` where there is
    nothing. `graph_viewer` raises ValueError, as XProf's does.
    """
    given = dict(params or {})
    xspace_paths = _listed(xspace_paths)
    tool = tool[:-1] if tool.endswith("^") else tool
    content_type = "application/json"
    options: dict[str, Any] = {"use_saved_result": given.get("use_saved_result", True)}
    if tool in ("trace_viewer", "trace_viewer@"):
        options = {**given.get("trace_viewer_options", {}), **options}
        if tool == "trace_viewer@":
            options["hosts"] = given.get("hosts", [])
        if options.get("format") == "pb":
            content_type = "application/octet-stream"
    elif tool in ("op_profile", "hlo_op_profile"):
        options["group_by"] = given.get("group_by", "program")
    elif tool == "graph_viewer":
        options = {**given.get("graph_viewer_options", {}), **options}
        kind = options.get("type", "")
        content_type = {"graph": "text/html"}.get(kind, "text/plain")
        if kind in ("pb", "pbtxt", "json", "short_txt", "long_txt"):
            content_type = "application/octet-stream"
    elif tool == "memory_viewer":
        timeline = given.get("view_memory_allocation_timeline", False)
        options = {
            "module_name": given.get("module_name"),
            "program_id": given.get("program_id"),
            "view_memory_allocation_timeline": timeline,
            "memory_space": given.get("memory_space", ""),
        }
        content_type = "text/html" if timeline else content_type
    elif tool == "megascale_stats":
        options = {"host_name": given.get("host"), "perfetto": given.get("perfetto", False)}
        content_type = "application/octet-stream" if options["perfetto"] else content_type
    elif tool == "kernel_utilization":
        options.update(given)
    elif tool == "memory_profile":
        # As XProf's: it takes one host at a time.
        assert len(xspace_paths) == 1
    elif tool == "tool_names" or tool not in _TOOLS:
        return None, content_type
    if write_hlo:
        _write_hlo_of(xspace_paths)
    ask = xspace_wrapper_func or xspace_to_tools_data
    data, is_there = ask(xspace_paths, tool, options)
    if not is_there:
        if tool == "graph_viewer":
            raise ValueError(data.decode() if isinstance(data, bytes) else data)
        return None, "text/plain" if tool == "graph_viewer" else "application/json"
    if tool == "trace_viewer" and options.get("format") != "pb" and isinstance(data, bytes):
        return data.decode(), content_type
    return data, content_type


def xspace_to_tools_data(
    xspace_paths: _Spaces, tool_name: str, options: Mapping[str, Any] | None = None
) -> tuple[bytes, bool]:
    """A tool's answer and True; why there is none and False. Options are switches, whole numbers and texts; others are a TypeError."""
    return _tools_data(_spaces(xspace_paths), tool_name, options)


def xspace_to_tools_data_from_byte_string(
    xspace_strings: Sequence[bytes],
    filenames_list: Sequence[str],
    tool_name: str,
    options: Mapping[str, Any] | None = None,
) -> tuple[bytes, bool]:
    """As `xspace_to_tools_data`, of XSpaces in memory."""
    if len(filenames_list) != len(xspace_strings):
        raise ValueError("Lengths of xspace_strings and filenames_list must match")
    return _tools_data(list(zip(map(str, filenames_list), xspace_strings)), tool_name, options)


def _tools_data(spaces: Any, tool: str, options: Mapping[str, Any] | None) -> tuple[bytes, bool]:
    params = _options(options or {})
    if (tool in _ONE_HOST and len(spaces) != 1) or tool == "hlo_op_profile":
        return f"{tool}: expected one host, found {len(spaces)}".encode(), False
    if tool == "memory_viewer" and not (params.get("module_name") or params.get("program_id")):
        return b"memory_viewer: no module was named", False
    if tool == "megascale_stats" and not (params.get("host_name") or params.get("host")):
        return b"megascale_stats: no host was named", False
    if tool == "op_profile" and params.get("group_by") not in (None, "program", "category", "provenance"):
        del params["group_by"]
    try:
        if tool == "tool_names":
            return _native.tool_names(spaces).encode(), True
    except Error as error:
        return str(error).encode(), False
    if tool == "trace_viewer@":
        # The library draws everything where it is not told how many pixels there are; the server has a default.
        params.setdefault("resolution", "0")
    if tool == "megascale_stats" and "host_name" in params:
        params["host"] = params.pop("host_name")
    try:
        data, words, _ = _native.tool_data(spaces, tool, list(params.items()))
    except Error as error:
        return str(error).encode(), False
    if data is not None:
        return data, True
    return words.encode(), False


def _options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options as texts; a value of no kind that XProf takes is a TypeError, lists and the like are passed over."""
    out = {}
    for key, value in options.items():
        if value is None or isinstance(value, (list, tuple, dict)):
            continue
        if not isinstance(value, (bool, int, str)):
            raise TypeError(f"Unsupported option type for key {key!r}: {type(value)!r}")
        if key not in _OF_XPROF:
            out[key] = str(value).lower() if isinstance(value, bool) else str(value)
    hosts = options.get("hosts")
    if isinstance(hosts, (list, tuple)) and hosts:
        out["hosts"] = ",".join(map(str, hosts))
    return out


def _is_data(item: Any) -> bool:
    """Whether it is no path but what a profiler session gave: a ProfileData of whoever, or the session."""
    return hasattr(item, "planes") or hasattr(item, "profile_data") or hasattr(item, "export_profile_data")


def _listed(given: _Spaces) -> list[Any]:
    return [given] if isinstance(given, (str, os.PathLike)) or _is_data(given) else list(given)


def _spaces(given: _Spaces) -> Any:
    """Paths as texts; names and bytes of what is in memory."""
    listed = _listed(given)
    if any(_is_data(item) for item in listed):
        return [(f"host{number}.xplane.pb", _bytes(item)) for number, item in enumerate(listed)]
    return [path for given in listed for path in _files(os.fspath(given))]


def _files(path: str) -> list[str]:
    """A file; of a session's folder, which some callers give, its XSpaces."""
    if not os.path.isdir(path):
        return [path]
    here = sorted(name for name in os.listdir(path) if name.endswith(".xplane.pb"))
    return [os.path.join(path, name) for name in here] or [path]


def _bytes(item: Any) -> bytes:
    """The XSpace that a ProfileData or a session holds."""
    if isinstance(item, ProfileData):
        return item.serialized_xspace()
    with tempfile.TemporaryDirectory() as folder:
        if callable(getattr(item, "export_profile_data", None)):
            item.export_profile_data(folder)
        else:
            import jax

            jax.profiler.export_profile_data(item, folder)
        for path, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".xplane.pb", ".xplane.riegeli")):
                    with open(os.path.join(path, name), "rb") as file:
                        return file.read()
    raise InputError("the profiler session returned no XSpace")


def _write_hlo_of(spaces: Iterable[Any]) -> None:
    """Writes the HLO modules of a run beside it, by the names that XProf gives them."""
    for path in spaces:
        if not isinstance(path, (str, os.PathLike)) or os.path.isdir(path):
            continue
        for name, proto in _native.hlo_protos(os.fspath(path)):
            target = os.path.join(os.path.dirname(os.fspath(path)), f"{name}.hlo_proto.pb")
            if not os.path.exists(target):
                with open(target, "wb") as file:
                    file.write(proto)


def compute_kernel_stats(
    source: Any = None,
    session_id: str | None = None,
    *,
    kernel_name: str | None = None,
    limit: int = 10,
    output_format: Literal["json", "markdown", "dict"] = "json",
    include_summary: bool = False,
    device_to_use: str | None = "TPU:0",
    trace_matchers: tuple[str, ...] | None = None,
    include_intra_kernel_regions: bool = False,
    bypass_cache: bool = False,
) -> Any:
    """XProf's `get_kernel_stats_tool.compute_kernel_stats`: kernels of devices by time, in its shapes and by its rules."""
    del device_to_use, bypass_cache
    source = source if source is not None else session_id
    if source is None:
        raise ValueError("Must provide either 'source' or 'session_id'.")
    if output_format == "dict":
        warnings.warn(
            "output_format='dict' is deprecated; use 'json' and json.loads().", DeprecationWarning, stacklevel=2
        )
    from ._kernel_stats import kernel_stats

    made = kernel_stats(
        source,
        kernel_name=kernel_name,
        limit=limit,
        markdown=output_format == "markdown",
        include_summary=include_summary,
        trace_matchers=trace_matchers,
        include_regions=include_intra_kernel_regions,
    )
    return json.loads(made) if output_format == "dict" else made


def install(*, write_hlo: bool = False) -> None:
    """Has `import xprof.convert.raw_to_tool_data`, `xprof.convert._pywrap_profiler_plugin`, `xprof.profile_data` and
    `xprof.cli.tools.get_kernel_stats_tool` find haloscope from here on. Modules that were imported before keep what they have.

    `write_hlo` is for callers that look for `*.hlo_proto.pb` beside a run once they have asked for its tools, as TraceLens does.
    """
    here = sys.modules[__name__]
    homes = {
        "xprof.convert.raw_to_tool_data": (
            "xspace_to_tool_data",
            "xspace_to_tool_names",
            "xspace_to_tools_data_from_byte_string",
        ),
        "xprof.convert._pywrap_profiler_plugin": ("xspace_to_tools_data", "xspace_to_tools_data_from_byte_string"),
        "xprof.profile_data": ("ProfileData",),
        "xprof.cli.tools.get_kernel_stats_tool": ("compute_kernel_stats",),
    }
    for home, names in homes.items():
        module = types.ModuleType(home, f"haloscope in place of {home}")
        for name in names:
            setattr(module, name, getattr(here, name))
        sys.modules[home] = module
        parent, _, child = home.rpartition(".")
        while parent:
            above = sys.modules.get(parent)
            if above is None:
                above = types.ModuleType(parent, f"haloscope in place of {parent}")
                above.__path__ = []
                sys.modules[parent] = above
            setattr(above, child, module)
            module = above
            parent, _, child = parent.rpartition(".")
    tool_data = sys.modules["xprof.convert.raw_to_tool_data"]
    tool_data.xspace_to_tools_data_from_byte_string = _of_byte_string  # type: ignore[attr-defined]
    if write_hlo:
        for name in ("xspace_to_tool_data", "xspace_to_tool_names"):
            setattr(tool_data, name, functools.partial(getattr(here, name), write_hlo=True))


def _of_byte_string(
    xspace_byte_list: Sequence[bytes], filenames: Sequence[str], tool: str, params: Mapping[str, Any]
) -> tuple[Any, str]:
    """`raw_to_tool_data.xspace_to_tools_data_from_byte_string`, whose shape is that of `xspace_to_tool_data`."""

    def ask(spaces: Sequence[bytes], name: str, options: Mapping[str, Any]) -> tuple[bytes, bool]:
        return xspace_to_tools_data_from_byte_string(spaces, filenames, name, options)

    return xspace_to_tool_data(xspace_byte_list, tool, params, ask)


#: Tools that XProf's library answers for one host alone.
_ONE_HOST = ("kernel_utilization", "trace_viewer")

#: Tools that XProf's library knows.
_TOOLS = {
    "framework_op_stats", "graph_viewer", "hlo_op_profile", "hlo_stats", "inference_profile", "input_pipeline_analyzer",
    "kernel_stats", "kernel_utilization", "megascale_stats", "memory_profile", "memory_viewer", "op_profile", "overview_page",
    "perf_counters", "pod_viewer", "roofline_model", "smart_suggestion", "trace_viewer", "trace_viewer@", "utilization_viewer",
}  # fmt: skip
