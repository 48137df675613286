"""`python -m snoopie.cli`, for a checkout that is not installed."""

import sys

from snoopie.cli import main

sys.exit(main())
