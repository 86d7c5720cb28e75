"""Why a JAX, PyTorch/XLA or TensorFlow program is slow, from its profile.

    import haloscope

    run = haloscope.open("logs")
    print(run.diagnose())
    run.ops().table("ops").to_pandas()

A run is a log folder, a session folder, a file or an address such as ``gs://bucket/logs``. Every analysis of the command line is a
method of a run; its result has the same numbers, and `to_json` gives the same bytes.
"""

from __future__ import annotations

from ._analyses import oom, roofline
from ._errors import (
    BugError,
    ChangedError,
    Error,
    InputError,
    NothingError,
    NotFoundError,
    UsageError,
)
from ._native import ProfileData, __version__
from ._report import Finding, Remark, Report, Value
from ._run import Line, Run, check, compare, from_bytes, kernel_times, open
from ._sql import SqlRows
from ._table import Table

__all__ = [
    "BugError",
    "ChangedError",
    "Error",
    "Finding",
    "InputError",
    "Line",
    "NotFoundError",
    "NothingError",
    "ProfileData",
    "Remark",
    "Report",
    "Run",
    "SqlRows",
    "Table",
    "UsageError",
    "Value",
    "__version__",
    "check",
    "compare",
    "from_bytes",
    "kernel_times",
    "oom",
    "open",
    "roofline",
]
