"""Kernels of devices by time, in the shapes and by the rules of XProf's `compute_kernel_stats`."""

from __future__ import annotations

import json
import os
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ._native import ProfileData

#: Lines of TPUs that hold kernels, and those that hold regions inside of kernels.
_KERNELS = ("XLA OPS", "PALLAS")
_REGIONS = ("LLO OPS", "PALLAS PRIMITIVES")
#: Words of lines of other devices that hold no work.
_NO_WORK = ("COUNTER", "MODULES", "OVERLAY", "SYNC FLAG", "SENSOR")
_LABELS = ("msg", "message", "annotation", "label")
_NOTE = (
    "Events on intra-kernel region lines were excluded because they overlap the kernel that contains them and would otherwise be"
    " ranked as top-level kernels. Pass include_intra_kernel_regions=True to include them, tagged with is_intra_kernel_region."
)


def _planes(source: Any) -> Iterator[Any]:
    if hasattr(source, "planes"):
        yield from source.planes
    elif isinstance(source, (bytes, bytearray)):
        yield from ProfileData.from_serialized_xspace(bytes(source)).planes
    elif isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not os.path.exists(path):
            raise FileNotFoundError(f"Path does not exist: {path!r}")
        from ._run import open as open_run

        files = [path] if os.path.isfile(path) else open_run(path)._native.files()
        for file in files:
            yield from ProfileData.from_file(file).planes
    else:
        raise TypeError(f"Unsupported source type: {type(source)}")


def _union(spans: Iterable[tuple[int, int]]) -> int:
    """The time that spans cover, each instant once."""
    total, end = 0, None
    for start, stop in sorted(spans):
        if end is None or start > end:
            total += stop - start
            end = stop
        elif stop > end:
            total += stop - end
            end = stop
    return total


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None or pattern in text
    except re.error:
        return pattern in text


def _name(event: Any) -> str:
    name = str(event.name)
    stats = list(event.stats)
    op = next((value for key, value in stats if key == "tf_op_name" and value), None)
    if op:
        return str(op)
    if name.isdigit():
        return str(next((value for key, value in stats if value and key in _LABELS), name))
    return name


def kernel_stats(
    source: Any,
    *,
    kernel_name: str | None,
    limit: int,
    markdown: bool,
    include_summary: bool,
    trace_matchers: tuple[str, ...] | None,
    include_regions: bool,
) -> str:
    """The text that XProf's function gives."""
    if isinstance(source, (dict, list)):
        return _of_records(source, kernel_name, limit, markdown, include_summary)
    found: dict[tuple[str, bool], list[float]] = defaultdict(list)
    by_line: dict[str, list[tuple[int, int]]] = defaultdict(list)
    spans: list[tuple[int, int]] = []
    custom: list[tuple[int, int]] = []
    steps: list[float] = []
    left_out: set[str] = set()
    outermost_us = 0.0
    for plane in _planes(source):
        if not plane.name.startswith("/device:"):
            continue
        is_tpu = "TPU" in plane.name.upper()
        for line in plane.lines:
            upper = line.name.upper()
            events = [(int(e.start_ns), int(e.duration_ns), e) for e in line.events]
            by_line_spans = [(start, start + took) for start, took, _ in events]
            if include_summary and events:
                by_line[line.name] += by_line_spans
            is_region = False
            if is_tpu:
                is_region = upper in _REGIONS or upper.endswith(" INSTRUCTIONS")
                if is_region and not include_regions:
                    left_out.add(line.name)
                    continue
                if not is_region and upper not in _KERNELS:
                    if include_summary and "XLA MODULES" in upper:
                        steps += [float(event.duration_ns) / 1000.0 for _, _, event in events]
                    continue
            elif any(word in upper for word in _NO_WORK):
                continue
            covered = -1
            for start, took, event in sorted(events, key=lambda e: (e[0], -e[1])):
                name = _name(event)
                if kernel_name and name != kernel_name:
                    continue
                if trace_matchers and not any(_matches(pattern, name) for pattern in trace_matchers):
                    continue
                took_us = float(event.duration_ns) / 1000.0
                found[name, is_region].append(took_us)
                if not is_region and start >= covered:
                    outermost_us += took_us
                covered = max(covered, start + took)
                if include_summary and not is_region:
                    spans.append((start, start + took))
                    lower = name.lower()
                    if lower.startswith("custom-call") or "custom_call" in lower or "pallas" in lower or "PALLAS" in upper:
                        custom.append((start, start + took))
    if not found:
        words = f"No kernel stats found for session {source}" + (f" and kernel {kernel_name}" if kernel_name else "")
        return f"# Info\n{words}\n" if markdown else json.dumps({"info": words}, indent=2)
    records = [_record(name, is_region, times) for (name, is_region), times in found.items()]
    records.sort(key=lambda record: record["total_duration_us"], reverse=True)
    cut, records = _cut(records, kernel_name, limit, outermost_us)
    if not include_summary:
        return _table(records, cut, kernel_name, limit) if markdown else json.dumps(records, indent=2)
    total, custom_ns = _union(spans), _union(custom)
    summary: dict[str, Any] = {
        "total_device_duration_ns": total,
        "total_device_duration_us": total / 1000.0,
        "total_device_duration_ms": total / 1_000_000.0,
        "by_line_duration_ns": {name: _union(of) for name, of in by_line.items()},
        "custom_call_duration_us": round(custom_ns / 1000.0, 4),
        "custom_call_share_pct": round(custom_ns / total * 100.0, 2) if total > 0 else 0.0,
        "kernel_records": records,
        "step_durations_us": steps,
        "stats": {
            "mean_us": round(sum(steps) / len(steps) if steps else total / 1000.0, 4),
            "std_us": round(statistics.stdev(steps) if len(steps) > 1 else 0.0, 4),
        },
        **cut,
    }
    if left_out:
        summary["excluded_intra_kernel_region_lines"] = sorted(left_out)
        summary["note"] = _NOTE
    return json.dumps(summary, indent=2)


def _record(name: str, is_region: bool, times: list[float]) -> dict[str, Any]:
    short = name.strip().split(":")[0].strip().split()[0] if name.strip() else ""
    total = sum(times)
    return {
        "kernel_name": name,
        "canonical_name": short,
        "short_name": short,
        "hlo_op_name": short,
        "raw_name": name,
        "total_duration_us": round(total, 4),
        "execution_count": len(times),
        "avg_duration_us": round(total / len(times), 4),
        "is_intra_kernel_region": is_region,
    }


def _cut(
    records: list[dict[str, Any]], kernel_name: str | None, limit: int, total_us: float | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    shown = records[:limit] if not kernel_name and limit > 0 else list(records)
    cut = {
        "truncated": len(shown) < len(records),
        "total_records": len(records),
        "returned_records": len(shown),
        "top_level_records": sum(not record.get("is_intra_kernel_region", False) for record in records),
        "total_duration_us_all_records": None if total_us is None else round(total_us, 4),
    }
    return cut, shown


def _of_records(source: Any, kernel_name: str | None, limit: int, markdown: bool, include_summary: bool) -> str:
    given = source.get("kernel_records", source) if isinstance(source, dict) else source
    given = given if isinstance(given, list) else [given]
    records = [
        record
        for record in given
        if isinstance(record, dict) and (not kernel_name or record.get("kernel_name") == kernel_name)
    ]
    cut, shown = _cut(records, kernel_name, limit, None)
    if include_summary:
        summary = dict(source) if isinstance(source, dict) else {}
        return json.dumps({**summary, "kernel_records": shown, **cut}, indent=2)
    return _table(shown, cut, kernel_name, limit) if markdown else json.dumps(shown, indent=2)


def _table(records: list[dict[str, Any]], cut: dict[str, Any], kernel_name: str | None, limit: int) -> str:
    lines = [
        f"# Kernel Stats for `{kernel_name}`" if kernel_name else "# Top Kernels by Duration",
        "",
        "| Kernel | Total Duration (us) | Execution Count | Avg Duration (us) |",
        "| :--- | ---: | ---: | ---: |",
    ]
    for record in records:
        total, mean = (float(record.get(key) or 0.0) for key in ("total_duration_us", "avg_duration_us"))
        name, count = record.get("kernel_name", "unknown"), record.get("execution_count", 0)
        lines.append(f"| `{name}` | {total:.2f} | {count} | {mean:.2f} |")
    if cut["truncated"]:
        lines += ["", f"Showing {len(records)} of {cut['total_records']} kernels (limit {limit}). Do not sum the rows above."]
    return "\n".join(lines)
