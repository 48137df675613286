"""Figures of a trace: matplotlib's, `savefig` writes them as PNG, SVG or PDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from snoopie.analysis.time import timeline
from snoopie.analysis.traffic.reading import Initiated, Reading
from snoopie.analysis.traffic.values import Value
from snoopie.api.memory import MemoryMethods
from snoopie.api.source import SourceMethods
from snoopie.api.time import TimeMethods
from snoopie.words.widths import COLUMN, PAGE

if TYPE_CHECKING:
    # It takes a second to import, and most traces are not drawn.
    from matplotlib.figure import Figure


class FigureMethods(TimeMethods, SourceMethods, MemoryMethods):
    """Figures, drawn by matplotlib. ``width`` is in inches."""

    def plot_matrix(
        self,
        value: Value = "bytes",
        reading: Reading = "issued",
        initiated: Initiated = "device",
        *,
        width: float = COLUMN,
        title: str = "",
    ) -> Figure:
        """The `matrix` as a heatmap with its numbers; places other than GPUs stand apart, where they have traffic. Of
        more than 256 places it has those with most traffic.
        """
        from snoopie.figures import matrix

        table, gpus, left = self._drawn_matrix(value, reading, initiated)
        return matrix.draw(table, value, gpus=gpus, left=left, width=width, title=title)

    def plot_lines(self, value: Value = "bytes", *, top: int = 15, width: float = COLUMN, title: str = "") -> Figure:
        """The ``top`` lines of `by_line` as bars, with their efficiency. UsageError for less than one."""
        from snoopie.figures import lines

        return lines.draw(self.by_line(), value, top=top, width=width, title=title)

    def plot_timeline(
        self,
        reading: Reading = "issued",
        initiated: Initiated = "both",
        *,
        bins: int = 400,
        width: float = PAGE,
        title: str = "",
    ) -> Figure:
        """`traffic_over_time` by pair, under the times of launches and copies by GPU, as far as they are known."""
        from snoopie.figures import timeline as drawn

        moved = self.traffic_over_time(bins, reading, initiated)
        begun = timeline.moments(self.copies["start"])
        copies_ = self.copies.assign(start=begun, end=np.maximum(begun, timeline.moments(self.copies["end"])))
        labels = {int(place): self.label(place) for place in self.places.index}
        return drawn.draw(moved, self.timeline(), copies_, labels, gpus=len(self.gpus), width=width, title=title)

    def plot_memory(
        self, device: int | str | None = None, process: int | None = None, *, width: float = PAGE, title: str = ""
    ) -> Figure:
        """`memory_usage` by kind, beside it what the driver reports: a chart for each device of each process, or one of
        all together where these are more than fit into a figure.
        """
        from snoopie.figures import memory as drawn

        usage, agreement = self.memory_usage(device, process), self.memory_agreement(device, process)
        charts = drawn.panels(usage, agreement, self.processes)
        if len(charts) > drawn.PANELS:
            charts = drawn.total(usage, self.processes)
        return drawn.draw(charts, int(self.processes["start_ns"].min()), width=width, title=title)
