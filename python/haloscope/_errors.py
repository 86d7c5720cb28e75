"""Why there is no answer. Each kind is also the exception of Python's own that means it, and has the exit code of the program."""

from __future__ import annotations


class Error(Exception):
    """Why there is no answer; `hint` says what to do about it, if anything."""

    exit_code: int = 70

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return (type(self), (self.message, self.hint))


class UsageError(Error, ValueError):
    """The question was malformed: an unknown parameter, a window that ends before it starts."""

    exit_code = 2


class InputError(Error, OSError):
    """An input cannot be read."""

    exit_code = 3

    # Of two parents the one that is a number and a text: its own way to be made would take the hint for another file.
    def __new__(cls, message: str = "", hint: str = "") -> InputError:
        return OSError.__new__(cls, message)


class NotFoundError(InputError, FileNotFoundError):
    """There is no such file or folder."""


class ChangedError(InputError):
    """A file was written to, or cut off, while it was read, so there is no answer."""


class NothingError(Error, LookupError):
    """The input was read, but has no data for this question."""

    exit_code = 4


class BugError(Error, RuntimeError):
    """A bug in haloscope."""

    exit_code = 70
