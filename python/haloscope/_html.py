"""What notebooks show."""

from __future__ import annotations

import html

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._table import Table

#: Rows of a table in a notebook.
ROWS = 12


def fragment(inner: str) -> str:
    """HTML without anything that runs: an untrusted notebook shows it too."""
    return f'<div class="haloscope-report" style="max-height:48em;overflow:auto">{inner}</div>'


def table(shown: Table) -> str:
    """The first rows of a table."""
    cells = shown.to_dict() if len(shown) <= ROWS else _head(shown)
    about = shown.schema
    head = "".join(
        f'<th title="{html.escape(about[id]["doc"])}">{html.escape(about[id]["label"] or id)}'
        f"{_unit(about[id]['unit'])}</th>"
        for id in cells
    )
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in list(zip(*cells.values()))[:ROWS]
    )
    more = f"<p>{len(shown):,} rows, of which {ROWS} are shown</p>" if len(shown) > ROWS else ""
    return fragment(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}")


def _head(shown: Table) -> dict[str, list[object]]:
    return shown._native.head(ROWS)


def _unit(unit: str) -> str:
    return f" ({html.escape(unit)})" if unit and unit != "1" else ""


def _cell(cell: object) -> str:
    return "" if cell is None else html.escape(f"{cell:.6g}" if isinstance(cell, float) else str(cell))


class Frame:
    """A page inside of a notebook, which has no access to it: `srcdoc`, sandboxed, without a server."""

    def __init__(self, page: str, height: int) -> None:
        self.page = page
        self.height = height

    def _repr_html_(self) -> str:
        inner = html.escape(self.page, quote=True)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{inner}" width="100%" height="{int(self.height)}" '
            'style="border:0" title="Haloscope report"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<a page of {len(self.page):,} characters: shown in notebooks; Run.save_html writes it to a file>"
