"""What runs are asked: Python's values as the words that analyses take."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from ._errors import InputError, UsageError
from ._report import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, Union

    from ._run import Run

    class _Readable(Protocol):
        def read(self) -> str: ...

    #: One name, names with commas between them, or several.
    Names = Union[str, Iterable[str], None]
    #: Step numbers: 3, "2-5,9", range(2, 6), [2, 3, 9].
    Steps = Union[int, str, Iterable[int], None]
    #: "1.5ms..20ms", or both ends: ("1.5ms", "20ms"), or picoseconds.
    Window = Union[str, tuple[Union[int, str], Union[int, str]], None]
    #: One text or several.
    Texts = Union[str, Iterable[str], None]
    #: A run, or what stands for one.
    RunLike = Union[Run, str, os.PathLike[str]]
    #: Runs of a baseline.
    Baselines = Union[RunLike, Sequence[RunLike], None]
    #: The text of a file, its path, or the file.
    DocumentLike = Union[str, os.PathLike[str], _Readable, None]

    Scope = tuple[Names, Names, Names, Steps, Window, bool]


class Document:
    """The text of a file that a parameter takes: by its path, as an open file, or the text itself where it has several lines."""

    def __init__(self, given: DocumentLike) -> None:
        self.given = given

    def text(self) -> str | None:
        """The text; `None` where none was given."""
        given = self.given
        if given is None or (isinstance(given, str) and "\n" in given):
            return given
        if not isinstance(given, (str, os.PathLike)):
            return given.read()
        try:
            with open(given, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError as error:
            raise InputError(f"cannot read {os.fspath(given)}: {error.strerror}", "give the path of a text file") from None


def words(params: Mapping[str, object]) -> list[tuple[str, str]]:
    """Parameters that were given, as words."""
    out = []
    for id, value in params.items():
        word = _word(id, value)
        if word is not None:
            out.append((id, word))
    return out


def _word(id: str, value: object) -> str | None:
    if isinstance(value, Document):
        return value.text()
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, Iterable):
        return "; ".join(str(part) for part in value)
    raise UsageError(f"`{id}=`: expected text or a number, found {value!r}")


def _names(given: Names) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else [] if given is None else list(given)
    return [part.strip() for part in parts if part.strip()]


def _steps(given: Steps) -> str | None:
    if given is None or isinstance(given, str):
        return given
    numbers = [given] if isinstance(given, int) else list(given)
    if not numbers:
        raise UsageError("`steps=`: expected at least one step, found none")
    return ",".join(str(int(number)) for number in numbers)


def _window(given: Window) -> str | None:
    if given is None or isinstance(given, str):
        return given
    try:
        first, last = given
    except (TypeError, ValueError):
        raise UsageError(f'`window=`: expected "1.5ms..20ms" or two times, found {given!r}') from None
    return f"{first}..{last}"


def scope_words(scope: Scope) -> dict[str, object]:
    """A part of a run as words."""
    hosts, devices, modules, steps, window, steady = scope
    return {
        "hosts": _names(hosts),
        "devices": _names(devices),
        "modules": _names(modules),
        "steps": _steps(steps),
        "window": _window(window),
        "steady": bool(steady),
    }


class Asked:
    """What every analysis is asked through."""

    def _ask(self, id: str, others: Baselines, scope: Scope, params: Mapping[str, object]) -> Report:
        raise NotImplementedError
