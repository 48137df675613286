"""The picture of which part of an object was touched: along its bytes or in rows, from all of it to single elements.

What is shown is cut and added up on the server; a box drawn in the picture, the buttons and the numbers all choose a
part of it, which stands in the address.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from snoopie import Trace
from snoopie.words import units
from visualizer.look import theme
from visualizer.parts import remarks
from visualizer.pictures import picture
from visualizer.session import address, background, state

Mode = Literal["bytes", "rows"]
Shown = Literal["times", "moved"]

MODES: dict[Mode, str] = {"bytes": "Along its bytes", "rows": "In rows"}
SHOWN: dict[Shown, str] = {"times": "Times touched", "moved": "Bytes moved"}
WIDTHS = (1, 2, 4, 8, 16)
ALL = "all"

# Cells of the picture along the bytes, and down and across in rows.
_ACROSS, _DOWN = 512, 256
# What the browser can count to.
_MOST = (1 << 53) - 1
_WIDTH = 4
_ROW = 1024
_LOW = 400
_MARGIN = {"l": 8, "r": 8, "t": 8, "b": 8}
_UNEQUAL = 64
_PARTS = ("object_from", "object_to", "object_top", "object_bottom", "object_left", "object_right")
# Plotly's own zoom would only enlarge the cells.
_NOT_ZOOM = ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d", "lasso2d"]
# All that is chosen here, beside the object.
KEYS = ("object_mode", "object_shown", "object_width", "object_row", "object_issuer", "object_operation", *_PARTS)


@dataclass(frozen=True)
class Axis:
    """A range that is shown, between limits, in steps that do not divide an element."""

    first: str  # the keys
    last: str
    limit: int
    step: int = 1

    @property
    def range(self) -> tuple[int, int]:
        """What is shown now: from, to."""
        return st.session_state[self.first], st.session_state[self.last]

    def keep(self) -> None:
        """Takes the range from the address; one that is none is all. What went to the end still does."""
        ended = f"{self.last}_limit"
        if st.session_state.get(self.last) == st.session_state.get(ended):
            address.reset(self.last)
        st.session_state[ended] = self.limit
        low = address.keep_number(self.first, range(self.limit), 0)
        high = address.keep_number(self.last, range(1, self.limit + 1), self.limit)
        if low >= high:
            self.set(0, self.limit)
            self.keep()

    def set(self, low: float, high: float) -> None:
        """Shows this range, or what of it there is, in whole elements."""
        begin = max(int(low) // self.step * self.step, 0)
        end = min(-(-int(np.ceil(high)) // self.step) * self.step, self.limit)
        begin = min(begin, (self.limit - 1) // self.step * self.step)
        st.session_state[self.first] = begin
        st.session_state[self.last] = max(end, min(begin + self.step, self.limit))

    def saw(self, touched: NDArray[np.bool_], begin: int, step: int) -> None:
        """Notes which of the cells that are drawn, each so many wide, were touched."""
        st.session_state[f"{self.first}_touched"] = begin + np.flatnonzero(touched) * step, step

    def zoom_in(self) -> None:
        """Shows a quarter: what was touched, or what lies around the middle of it, and never an empty part."""
        low, high = self.range
        cells, step = st.session_state.get(f"{self.first}_touched", (np.array([low]), high - low))
        cells = cells[(cells + step > low) & (cells < high)]
        if len(cells) and cells[-1] + step - cells[0] <= (high - low) / 4:
            self.set(cells[0], cells[-1] + step)
            return
        middle, half = (low + high) / 2, max((high - low) / 4, self.step) / 2
        if len(cells):
            nearest = cells[np.argmin(np.abs(cells + step / 2 - middle))]
            middle = float(np.clip(middle, nearest, nearest + step))
        self.set(middle - half, middle + half)

    def scale(self, factor: float) -> None:
        """Shows so many times as much, around the same middle."""
        low, high = self.range
        middle, half = (low + high) / 2, max((high - low) * factor, self.step) / 2
        self.set(middle - half, middle + half)

    def move(self, share: float) -> None:
        """Shows what lies beside it, by a share of what is shown."""
        low, high = self.range
        size = high - low
        begin = min(max(low + int(np.copysign(max(abs(share) * size, self.step), share)), 0), self.limit - size)
        self.set(begin, begin + size)


def keep(object: int) -> None:
    """Takes all choices from the address, also where they are not shown; of another object it shows everything."""
    if st.session_state.get("object_of_choices", object) != object:
        address.reset(*_PARTS, "object_row", "object_copy", "object_issuer", "object_operation")
    st.session_state["object_of_choices"] = object
    address.keep_one("object_mode", list(MODES))
    address.keep_one("object_shown", list(SHOWN))
    address.keep_number("object_width", WIDTHS, _WIDTH)


def ahead(copies: tuple[int, ...], size: int) -> None:
    """Has made what its first picture needs."""
    trace, stop = state.whole(), min(size, _MOST)
    background.ahead(trace.question(Trace.object_heat, copies, 1))
    background.ahead(trace.question(Trace.object_heat, copies, _ACROSS, 0, stop, width=_WIDTH, operations=()))


def show(copies: tuple[int, ...], size: int) -> None:
    """The controls and the picture of an object, or of the copies of an array, of so many bytes."""
    size = min(size, _MOST)
    part = state.selected()
    whole = background.answer(part.question(Trace.object_heat, copies, 1))
    if whole is None:
        return
    issuers = list(whole.index)
    if not issuers:
        _nothing()
        return
    with st.container(horizontal=True, gap="large"):
        mode: Mode = _buttons("Picture", "object_mode", MODES)
        shown: Shown = _buttons("Colour", "object_shown", SHOWN)
        width = st.segmented_control(
            "Element size (bytes)", WIDTHS, key="object_width", help="Cells are whole elements of so many bytes."
        )
    width = width or _WIDTH
    operations = [ALL, *state.ask(Trace.by_operation)["operation"]]
    address.keep_one("object_issuer", [ALL, *issuers])
    address.keep_one("object_operation", operations)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        operation = _select("Only operation", operations, "object_operation")
        issuer = _select("Only issuer", [ALL, *issuers], "object_issuer")
        if mode == "rows":
            guessed = background.answer(part.question(Trace.row_length, copies))
            if guessed is None:
                return
            likely = guessed // width if guessed and guessed % width == 0 else min(_ROW, -(-size // width))
            address.keep_number("object_row", range(1, _MOST // width + 1), likely)
            row = width * int(
                st.number_input(
                    "Elements in a row",
                    min_value=1,
                    max_value=_MOST // width,
                    key="object_row",
                    width=180,
                    help="The row length of the matrix: a wrong one shows slanted lines.",
                )
            )
            if guessed == row:
                st.caption("Guessed from the bytes that were touched.")
    chosen = () if operation == ALL else (operation,)
    _range(Axis("object_from", "object_to", size, width), "byte", of_picture=mode == "bytes")
    start, stop = st.session_state["object_from"], st.session_state["object_to"]
    if mode == "bytes":
        heat = background.answer(
            part.question(Trace.object_heat, copies, _ACROSS, start, stop, width=width, operations=chosen)
        )
        if heat is None:
            return
        if issuer != ALL:
            heat = heat.loc[heat.index == issuer]
        _draw_bytes(copies, heat, shown, width, size)
        return
    down = Axis("object_top", "object_bottom", -(-(stop - start) // row))
    across = Axis("object_left", "object_right", min(row, stop - start), width)
    for axis, name in ((down, "row"), (across, "byte of a row")):
        _range(axis, name, of_picture=True)
    table = background.answer(
        part.question(
            Trace.object_rows,
            copies,
            row,
            start,
            stop,
            rows=down.range,
            columns=across.range,
            width=width,
            issuer=None if issuer == ALL else issuer,
            operations=chosen,
            cells=(_DOWN, _ACROSS),
        )
    )
    if table is None:
        return
    _draw_rows(copies, table, shown, down, across)


# --- controls ---


def _buttons(label: str, key: str, options: dict[Any, str]) -> Any:
    chosen = st.segmented_control(label, list(options), format_func=options.__getitem__, key=key)
    return chosen or next(iter(options))


def _select(label: str, options: list[str], key: str) -> str:
    return str(st.selectbox(label, options, key=key, width=180))


def _range(axis: Axis, name: str, *, of_picture: bool) -> None:
    """Numbers and buttons that choose a range; every one of them works by keyboard."""
    axis.keep()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        common: dict[str, Any] = {"step": axis.step, "width": 200}
        st.number_input(f"From {name}", min_value=0, max_value=axis.limit - 1, key=axis.first, **common)
        st.number_input(f"To {name} (exclusive)", min_value=1, max_value=axis.limit, key=axis.last, **common)
        if not of_picture:
            st.caption("Rows begin at the first of these bytes.")
            return
        low, high = axis.range
        whole, least = (low, high) == (0, axis.limit), high - low <= axis.step
        for label, icon, act, off in (
            ("Zoom in", ":material/zoom_in:", axis.zoom_in, least),
            ("Zoom out", ":material/zoom_out:", lambda: axis.scale(4), whole),
            ("Back", ":material/arrow_back:", lambda: axis.move(-1 / 2), low == 0),
            ("Forward", ":material/arrow_forward:", lambda: axis.move(1 / 2), high == axis.limit),
            ("All", ":material/fit_width:", lambda: axis.set(0, axis.limit), whole),
        ):
            key = f"{axis.first}_{label}"
            st.button(f"{label}", icon=icon, key=key, on_click=act, disabled=off, help=f"{label}, of {name}s")


# --- pictures ---


def _draw_bytes(copies: tuple[int, ...], heat: pd.DataFrame, shown: Shown, width: int, size: int) -> None:
    axis = Axis("object_from", "object_to", size, width)
    step = _step(heat.columns, axis.range)
    z = _amounts(heat, shown, np.minimum(step, axis.range[1] - heat.columns.to_numpy()))
    axis.saw(np.isfinite(z).any(axis=0), int(heat.columns[0]), step)
    each = "one element" if step == width else f"{step // width:,} elements"
    st.caption(
        f"Each cell is {units.bytes(step)}, {each}; one line for each GPU that touched it. " + _meaning(shown, z)
    )
    x = {"x0": int(heat.columns[0]), "dx": step}
    y = [html.escape(label) for label in heat.index]
    hover = "<b>%{y}</b><br>byte %{x:,} and on<br>" + _HOVER[shown] + "<extra></extra>"
    trace = {"type": "heatmap", **x, "y": y, "hovertemplate": hover, "ygap": 4}
    layout = {
        # Below the labels, among which it lies otherwise where it has the room between two.
        "xaxis": _axis("Byte of the object", axis.range, step)
        | {"automargin": False, "title": {"text": "Byte of the object", "standoff": 42}},
        "margin": _MARGIN | {"b": 62},
        "yaxis": {"autorange": "reversed", "showgrid": False, "fixedrange": True, "type": "category"},
        "height": 150 + 44 * len(heat),
    }
    chosen = {"selectdirection": "h"}
    _draw(copies, trace, layout | chosen, shown, z, lambda x, _: axis.set(*_whole(x, step)))


def _draw_rows(copies: tuple[int, ...], table: pd.DataFrame, shown: Shown, down: Axis, across: Axis) -> None:
    step, lines = _step(table.columns, across.range), _step(table.index, down.range)
    wide = np.minimum(step, across.range[1] - table.columns.to_numpy())
    high = np.minimum(lines, down.range[1] - table.index.to_numpy())
    z = _amounts(table, shown, high[:, None] * wide)
    across.saw(np.isfinite(z).any(axis=0), int(table.columns[0]), step)
    down.saw(np.isfinite(z).any(axis=1), int(table.index[0]), lines)
    rows = "1 row" if lines == 1 else f"{lines:,} rows"
    each = "one element" if step == across.step else f"{step // across.step:,} elements"
    st.caption(f"Each cell is {rows} × {units.bytes(step)}, {each}. " + _meaning(shown, z))
    hover = "row %{y:,} and on<br>byte %{x:,} of the row and on<br>" + _HOVER[shown] + "<extra></extra>"
    if lines == 1:
        hover = hover.replace("%{y:,} and on", "%{y:,}")
    trace = {
        "type": "heatmap",
        "x0": int(table.columns[0]),
        "dx": step,
        "y0": int(table.index[0]),
        "dy": lines,
        "hovertemplate": hover,
    }
    axis = _axis("Row", down.range, lines)
    layout = {
        "xaxis": {"side": "top", **_axis("Byte of a row", across.range, step)},
        "yaxis": axis | {"range": axis["range"][::-1]},
        "height": 620,
    }

    def zoom(x: tuple[float, float], y: tuple[float, float]) -> None:
        across.set(*_whole(x, step))
        down.set(*_whole(y, lines))

    _draw(copies, trace, layout, shown, z, zoom)


_MEANING: dict[Shown, str] = {
    "times": "how often each byte of it was touched, on average; empty: never.",
    "moved": "bytes moved; empty: none.",
}
_HOVER: dict[Shown, str] = {
    "times": "each byte touched <b>%{customdata:,.6~g}</b> times",
    "moved": "<b>%{customdata:,}</b> bytes moved",
}


def _meaning(shown: Shown, z: Any) -> str:
    scale = ", on a logarithmic scale" if _logarithmic(z) else ""
    return f"Colour{scale}: {_MEANING[shown]} Draw a box in the picture to zoom into it."


def _logarithmic(z: Any) -> bool:
    """Whether some cells have so much that all others would look alike."""
    seen = z[np.isfinite(z)]
    return len(seen) > 0 and float(seen.max()) > _UNEQUAL * float(seen.min())


def _amounts(table: pd.DataFrame, shown: Shown, sizes: Any) -> Any:
    """What the colours stand for: NaN, which is drawn as nothing, where nothing was touched."""
    values = table.to_numpy().astype(np.float64)
    values[values == 0] = np.nan
    return values / sizes if shown == "times" else values


def _step(places: pd.Index[Any], limits: tuple[int, int]) -> int:
    """How much a cell is."""
    return int(places[1] - places[0]) if len(places) > 1 else limits[1] - limits[0]


def _whole(box: tuple[float, float], step: int) -> tuple[float, float]:
    """What a box covers of cells whose middles are where they begin."""
    low, high = sorted(box)
    return low + step / 2, high + step / 2


def _axis(title: str, limits: tuple[int, int], step: int) -> dict[str, Any]:
    # A cell's middle stands where it begins, so that ticks name first bytes and rows.
    low, high = limits[0] - step / 2, limits[0] + -(-(limits[1] - limits[0]) // step) * step - step / 2
    return {
        "title": {"text": title},
        "automargin": True,
        "range": [low, high],
        "tickformat": ",d",
        "showgrid": False,
        "zeroline": False,
        "nticks": 10,
    }


def _draw(
    copies: tuple[int, ...],
    trace: dict[str, Any],
    layout: dict[str, Any],
    shown: Shown,
    z: Any,
    zoom: Callable[[tuple[float, float], tuple[float, float]], None],
) -> None:
    seen = z[np.isfinite(z)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
    logarithmic = _logarithmic(z)

    def name(value: float) -> str:
        return units.bytes(value) if shown == "moved" else f"{value:,.6g}"

    at = np.linspace(np.log10(low), np.log10(high), 5) if logarithmic else np.linspace(0, high, 5)
    ticks = [float(f"{10**tick if logarithmic else tick:.2g}") for tick in at]
    colourbar = {
        "tickvals": [float(np.log10(tick)) for tick in ticks] if logarithmic else ticks,
        "ticktext": [name(tick) for tick in ticks],
        "thickness": 12,
    }
    if layout["height"] < _LOW:
        # Beside so few lines its ticks would lie on one another.
        colourbar |= {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom", "len": 0.4}
    heatmap = trace | {
        "z": np.log10(z) if logarithmic else z,
        "customdata": z,
        "colorscale": theme.heat_scale(),
        "zmin": float(at[0]),
        "zmax": float(at[-1]),
        "hoverongaps": False,
        "colorbar": colourbar | {"title": {"text": SHOWN[shown], "side": "top"}},
    }
    # A heatmap has no points of its own to select; one that is not seen lets a box be drawn.
    point = {
        "type": "scatter",
        "x": [layout["xaxis"]["range"][0]],
        "y": [trace.get("y", [trace.get("y0")])[0]],
        "mode": "markers",
        "marker": {"opacity": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    layout = {"margin": _MARGIN} | layout | picture.BY_BOX
    ranges = "_".join(str(st.session_state.get(key, "")) for key in KEYS)
    key = f"object_heat_{'_'.join(map(str, copies))}_{ranges}"

    def choose() -> None:
        boxes = st.session_state[key]["selection"]["box"]
        if boxes:
            zoom(_ends(boxes[0]["x"]), _ends(boxes[0]["y"]))

    st.plotly_chart(
        picture.figure([heatmap, point], layout),
        key=key,
        width="stretch",
        on_select=choose,
        selection_mode="box",
        config={"displaylogo": False, "modeBarButtonsToRemove": _NOT_ZOOM},
    )


def _ends(side: list[Any]) -> tuple[float, float]:
    """Both ends of a box's side; on an axis of names, none."""
    low, high = (float(end) if isinstance(end, int | float) else 0.0 for end in side)
    return low, high


def _nothing() -> None:
    if not state.ask_whole(Trace.summary)["records"]:
        remarks.nothing(
            "This trace has no recorded accesses, so where objects were touched is not known.",
            "Record it with addresses: snoopie run without -s 0 (SAMPLE_SIZE).",
        )
    else:
        remarks.nothing(
            "No recorded access of another GPU touched this object.",
            "Copies of the host have no part in this picture; the filters may exclude accesses.",
        )
