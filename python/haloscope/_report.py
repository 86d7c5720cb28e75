"""Answers: headline numbers, tables, findings, remarks on the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from . import _native
from ._errors import NothingError
from ._record import Record
from ._table import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Value(Record):
    """A headline number. `status` is `measured`, `derived`, `estimated` or `unknown`; what is unknown is `None`, never 0."""

    __slots__ = ("id", "value", "unit", "status", "label", "doc")

    id: str
    value: int | float | str | bool | None
    unit: str
    status: str
    label: str
    doc: str

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit and self.unit != "1" else ""
        return f"Value({self.id}={self.value!r}{unit}, {self.status})"


class Finding(Record):
    """A claim with its evidence, what it costs at most, what to try, and what would prove it wrong. `see` are calls that show the
    evidence, `variant` is None if an id has only one kind of finding.
    """

    __slots__ = (
        "id", "variant", "severity", "claim", "evidence", "ceiling", "lever", "falsifier", "speedup", "status", "explained_by", "see",
    )  # fmt: skip

    id: str
    variant: str | None
    severity: str
    claim: str
    evidence: str
    ceiling: str
    lever: str
    falsifier: str
    speedup: float | None
    status: str
    explained_by: str | None
    see: list[str]


class Remark(Record):
    """What is missing, cut or guessed in the data, what that costs, and how to fix it."""

    __slots__ = ("id", "severity", "message", "cost", "cure")

    id: str
    severity: str
    message: str
    cost: str
    cure: str


class Values(Mapping[str, Value]):
    """Headline numbers by id, in reading order."""

    def __init__(self, native: _native.Report) -> None:
        self._values = {id: Value(id, *parts) for id, parts in native.values()}

    def __getitem__(self, id: str) -> Value:
        return self._values[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Values({list(self._values.values())})"


class Report:
    """The answer of an analysis."""

    def __init__(self, native: _native.Report) -> None:
        self._native = native

    @property
    def analysis(self) -> str:
        """The analysis that gave it."""
        return self._native.analysis

    def __getitem__(self, id: str) -> Value:
        """The headline number with this id."""
        parts = self._native.value(id)
        if parts is None:
            raise KeyError(f"{self.analysis} has no value {id!r}; it has: {', '.join(self.values)}")
        return Value(id, *parts)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._native.value(id) is not None

    @property
    def values(self) -> Values:
        """All headline numbers."""
        return Values(self._native)

    @property
    def findings(self) -> list[Finding]:
        """What follows from the numbers, worst first."""
        return [Finding(**finding) for finding in self._native.findings()]

    @property
    def quality(self) -> list[Remark]:
        """What was missing, cut, unpaired or guessed."""
        return [Remark(**remark) for remark in self._native.quality()]

    @property
    def passed(self) -> bool | None:
        """Whether all checks hold; `None` if there are no checks, or if it could not be decided."""
        return self._native.passed

    @property
    def exit_code(self) -> int:
        """The exit code of the program for this answer: 0, 1 if a gate failed, 5 if it could not be decided."""
        return self._native.exit_code

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by id, the most important first."""
        return {id: self.table(id) for id in self._native.table_ids()}

    def table(self, id: str | None = None) -> Table:
        """The table with this id, or the first."""
        ids = self._native.table_ids()
        if id is None and not ids:
            raise NothingError(f"{self.analysis} gave no table of this run")
        native = self._native.table(ids[0] if id is None else id)
        if native is None:
            raise KeyError(f"{self.analysis} has no table {id!r}; it has: {', '.join(ids)}")
        return Table(native)

    @property
    def texts(self) -> dict[str, str]:
        """Whole texts, such as a program as its compiler prints it."""
        return {id: text for id, _title, text in self._native.texts()}

    def to_json(self) -> str:
        """The JSON of `--format json`, byte for byte."""
        return self._native.to_json()

    def to_dict(self) -> dict[str, Any]:
        """That JSON as a dictionary: also scope, provenance, trees and series."""
        import json

        made: dict[str, Any] = json.loads(self.to_json())
        return made

    def to_markdown(self, limit: int = 20) -> str:
        """As Markdown, with at most this many rows of each table; 0 for all."""
        return self._native.to_markdown(limit)

    def to_text(self, width: int = 120, limit: int = 20) -> str:
        """As the terminal shows it."""
        return self._native.to_text(width, limit)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Report({self.analysis!r}, {len(self.findings)} findings, tables={self._native.table_ids()})"

    def _repr_html_(self) -> str:
        from ._html import fragment

        return fragment(self._native.to_html(12))
