"""A trace as one file for a web browser: no script, nothing loaded from elsewhere, for the screen and for paper.

Each file of `sections` makes parts (tables, figures, listings) of what a trace has; ``page.html`` lays them out and
escapes every text. MissingPackageError where the packages for that are not installed.
"""

from snoopie.extras import need

need("plot", "a report", "jinja2", "matplotlib", "seaborn")
