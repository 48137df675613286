"""Pictures of a trace for papers, reports and notebooks: analyses in, matplotlib figures out.

MissingPackageError where that is not installed.
"""

from snoopie.extras import need

need("plot", "a figure", "matplotlib", "seaborn")
