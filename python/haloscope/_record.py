"""Values with names. Written by hand: what Python has for it would take most of the time that importing this package takes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Record:
    """An immutable value with named parts, in the order of `__slots__`."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *parts: Any, **named: Any) -> None:
        given = {**dict(zip(self.__slots__, parts)), **named}
        if len(parts) > len(self.__slots__) or set(given) != set(self.__slots__):
            raise TypeError(f"{type(self).__name__} has {', '.join(self.__slots__)}")
        for name, part in given.items():
            object.__setattr__(self, name, part)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change")

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and type(other) is type(self) and other._parts() == self._parts()

    def __hash__(self) -> int:
        return hash((type(self), tuple(map(repr, self._parts()))))

    def __reduce__(self) -> tuple[type[Record], tuple[Any, ...]]:
        return (type(self), self._parts())

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({parts})"
