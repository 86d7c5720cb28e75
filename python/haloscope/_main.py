"""The program `haloscope`, in the process of Python."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Does what the arguments of the process ask for; the exit code."""
    # Ctrl-C ends the program, as it ends every other: nothing of Python's runs that could hear of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["haloscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
