"""`python -m haloscope`: the program."""

import sys

from ._main import main

sys.exit(main())
