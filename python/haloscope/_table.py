"""Tables of typed columns, for whatever reads Arrow."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import pandas
    import polars
    import pyarrow

    from . import _native


class Table:
    """A table. It is an Arrow stream: `polars.DataFrame(table)`, `pyarrow.table(table)` and DuckDB take it as it is."""

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def id(self) -> str:
        """Its id in the report."""
        return self._native.id

    @property
    def title(self) -> str:
        """Its title."""
        return self._native.title

    @property
    def columns(self) -> list[str]:
        """The ids of the columns."""
        return self._native.columns

    @property
    def schema(self) -> dict[str, dict[str, str]]:
        """The type, unit, label and kind of each column, and what it is and how it was computed (`doc`)."""
        return self._native.schema

    def __len__(self) -> int:
        return len(self._native)

    def to_dict(self) -> dict[str, list[Any]]:
        """The cells of each column; `None` is unknown."""
        return self._native.to_dict()

    def rows(self) -> list[dict[str, Any]]:
        """The rows, each by column."""
        cells = self.to_dict()
        return [dict(zip(cells, row)) for row in zip(*cells.values())]

    def to_arrow(self) -> pyarrow.Table:
        """As a `pyarrow.Table`, with units, labels and docs in the fields' metadata."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """As a `polars.DataFrame`."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a `pandas.DataFrame`: by pyarrow where it is installed."""
        import pandas

        try:
            arrow = self.to_arrow()
        except ImportError:
            return pandas.DataFrame(self.to_dict())
        return arrow.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"Table({self.id!r}, {len(self)} rows, columns={self.columns})"

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self)
