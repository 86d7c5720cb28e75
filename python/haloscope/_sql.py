"""SQL over runs, answered by `haloscope-query`, a separate program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ._errors import BugError, Error, InputError, NothingError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import pandas
    import polars
    import pyarrow

PROGRAM = "haloscope-query"

_ERRORS: dict[int, type[Error]] = {2: UsageError, 3: InputError, 4: NothingError}


class SqlRows:
    """The rows of a query, as the bytes of an Arrow IPC file.

    `polars.read_ipc(rows.ipc)` and `pyarrow.ipc.open_file(rows.ipc)` read them, as the methods here do; with pyarrow or polars installed it is an
    Arrow stream too, which DuckDB takes as it is. Unknown is null.
    """

    def __init__(self, ipc: bytes) -> None:
        self.ipc = ipc

    def to_arrow(self) -> pyarrow.Table:
        """As a `pyarrow.Table`, with units and docs of a table's own columns in the fields' metadata."""
        import pyarrow.ipc

        return pyarrow.ipc.open_file(self.ipc).read_all()

    def to_polars(self) -> polars.DataFrame:
        """As a `polars.DataFrame`."""
        import polars

        return polars.read_ipc(self.ipc)

    def to_pandas(self) -> pandas.DataFrame:
        """As a `pandas.DataFrame`, by pyarrow."""
        return self.to_arrow().to_pandas()

    def rows(self) -> list[dict[str, Any]]:
        """The rows, each by column."""
        try:
            rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        except ImportError:
            rows = self.to_polars().to_dicts()
        return rows

    def __len__(self) -> int:
        try:
            count: int = self.to_arrow().num_rows
        except ImportError:
            count = self.to_polars().height
        return count

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        try:
            table: Any = self.to_arrow()
        except ImportError:
            table = self.to_polars()
        return table.__arrow_c_stream__(requested_schema)


def program() -> str:
    """Where the program is: beside this Python's programs, else on PATH."""
    name = PROGRAM + (".exe" if os.name == "nt" else "")
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(PROGRAM)
    if found is None:
        raise UsageError(
            f"{PROGRAM} is neither beside this Python nor on PATH",
            "from a checkout: cargo install --path query; docs/query.md says more",
        )
    return found


def ask(paths: Sequence[str], sql: str, timeout: float | None) -> SqlRows:
    """Asks the program of runs here; `sql` is one statement, or `@` and the name of a canned question."""
    words = [program(), "--format", "arrow"]
    if timeout is not None:
        words += ["--timeout", repr(float(timeout))]
    canned = sql.strip().startswith("@")
    words += ["--", *paths, sql.strip()] if canned else ["--file=-", "--", *paths]
    # Where this is interrupted, the program is ended.
    done = subprocess.run(words, input=b"" if canned else sql.encode(), capture_output=True, check=False)
    if done.returncode == 0:
        return SqlRows(done.stdout)
    said = done.stderr.decode(errors="replace").splitlines()
    message = "\n".join(line for line in said if not line.startswith(("note: ", "hint: "))).removeprefix("error: ")
    hint = "\n".join(line.removeprefix("hint: ") for line in said if line.startswith("hint: "))
    raise _ERRORS.get(done.returncode, BugError)(message or f"{PROGRAM} ended with {done.returncode}", hint)
