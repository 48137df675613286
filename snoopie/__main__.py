"""`python -m snoopie`, where the command is not on PATH."""

import sys

from snoopie.cli import main

sys.exit(main())
