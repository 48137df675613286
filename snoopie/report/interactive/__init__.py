"""A trace as one HTML file to explore: overview, source, matrix and timeline, offline, in any web browser.

Python sums up and cuts (`payload` and what it calls); what it hands on is compressed into the page. ``scripts`` draws
it, and inserts every text as text. The page's Content-Security-Policy lets it run its own script and load nothing.
MissingPackageError where the packages for that are not installed.
"""

from snoopie.extras import need

need("plot", "a report to explore", "pygments")
