"""How fast a trace is written and read, on any machine:  python bench/trace.py [--app]

Needs g++ and zstd.h (for write_trace.cpp, which writes the traces with the collector's writer) and the package's own
requirements; --app also needs playwright and Chromium. Each figure is the median of several repeats. Each repeat is a
process of its own, which reports its time and its peak memory. Files are in the page cache, so no disk is measured.
Prints the tables and writes them into docs/performance.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import snoopie  # noqa: E402
from tests.support import processes  # noqa: E402

DOCUMENT = ROOT / "docs" / "performance.md"
SIZES = (1_000_000, 10_000_000, 100_000_000)
MIB = 1 << 20
# A table of every lane access takes 56 bytes for each.
LARGEST_TABLE = 10_000_000

APP = (
    "The app in Chromium, on the same cores, served by `snoopie view`: the largest trace beside the smallest, each in "
    "fresh servers and browsers. Times start when the mouse button is pressed, and are taken in the browser. The first "
    "click comes 5 s after the trace was opened, each later one 0.5 s after the last answer was drawn. Answered: the "
    "server is done, and the page shows its new heading or figures. Drawn: the result is visible in a picture or a "
    "table. CPU time: what server and browser have spent on all cores until then, without the process that goes "
    "through the records, which gives way to both; other work on the machine changes it less."
)

Work = Callable[[snoopie.Trace], object]

ANALYSES: dict[str, Work] = {
    "summary": lambda trace: trace.summary(),
    "matrix": lambda trace: trace.matrix(),
    "by library": lambda trace: trace.by_library(),
    "matrix, as it flowed": lambda trace: trace.matrix(reading="flow"),
    "by_pair": lambda trace: trace.by_pair(),
    "by_kernel": lambda trace: trace.by_kernel(),
    "by_line": lambda trace: trace.by_line(),
    "by_site": lambda trace: trace.by_site(),
    "by_operation": lambda trace: trace.by_operation(),
    "by_launch": lambda trace: trace.by_launch(),
    "by_collective": lambda trace: trace.by_collective(),
    "not_measured": lambda trace: trace.not_measured(),
    "losses": lambda trace: trace.losses(),
    "select, then summary": lambda trace: trace.select(operations="load").summary(),
    "select, then by_line": lambda trace: trace.select(operations="load").by_line(),
}
RECORDS: dict[str, Work] = {
    "by_object": lambda trace: trace.by_object(),
    "reuse": lambda trace: trace.reuse(),
    "object_offsets": lambda trace: trace.object_offsets(1),
    "object_heat": lambda trace: trace.object_heat(1),
    "record_blocks": lambda trace: sum(len(block) for block in trace.record_blocks()),
    "records": lambda trace: len(trace.records),
    "lane_access_blocks": lambda trace: sum(len(block) for block in trace.lane_access_blocks()),
    "lane_accesses": lambda trace: len(trace.lane_accesses()),
}


@dataclass(frozen=True)
class Figure:
    """Repeats of one measurement: seconds each, and the largest memory of all, in bytes."""

    seconds: tuple[float, ...]
    peak: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def text(self) -> str:
        """Milliseconds, with the smallest and largest in brackets."""
        low, middle, high = (
            f"{1000 * value:,.{0 if value > 0.1 else 1 if value > 0.01 else 2}f}"
            for value in (min(self.seconds), self.median, max(self.seconds))
        )
        return f"{middle} ({low}–{high})"


# --- one measurement, in its own process ---


def measure(name: str, path: str, cores: int) -> dict[str, float]:
    """Seconds of one call on a freshly read trace, and this process's largest memory until then."""
    if cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    start = time.perf_counter()
    trace = snoopie.load(path)
    if name != "load":
        start = time.perf_counter()
        (ANALYSES | RECORDS)[name](trace)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak": peak("self")}


def peak(process: int | str) -> int:
    """The largest memory of a process so far, in bytes. (That of getrusage begins with what its parent had.)"""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))


def measured(name: str, path: Path, repeats: int, cores: int = 1) -> Figure:
    """The same in some fresh processes; ``cores`` 0 = all."""
    command = [sys.executable, __file__, "--measure", name, str(path), str(cores)]
    results = [_json(command) for _ in range(repeats)]
    return Figure(tuple(result["seconds"] for result in results), max(int(result["peak"]) for result in results))


def _json(command: Sequence[str]) -> dict[str, Any]:
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    result: dict[str, Any] = json.loads(output)
    return result


# --- the tables ---


def write(folder: Path, size: int, repeats: int) -> tuple[Path, dict[str, Any], Figure]:
    """A trace of that many lane accesses, what its writer says of it, and how long it took."""
    path = folder / f"{size}.zst"
    results = []
    for _ in range(repeats):
        path.unlink(missing_ok=True)
        results.append(_json([str(ROOT / "nvbit_tool" / "build" / "write_trace"), str(size), str(path)]))
    figure = Figure(tuple(result["seconds"] for result in results), max(result["peak"] for result in results))
    return path, results[0], figure


def tables(sizes: Sequence[int], repeats: int, folder: Path) -> Iterator[str]:
    """Markdown, line by line."""
    written = [write(folder, size, repeats) for size in sizes]
    paths = [path for path, _, _ in written]
    facts = [fact for _, fact, _ in written]
    headings = [f"{size / 1e6:,.0f} M" for size in sizes]
    growth = [f"× {size / sizes[0]:,.0f}" for size in sizes[1:]]
    yield "| trace | " + " | ".join(headings) + " |"
    yield "|---|" + "---:|" * len(sizes)
    yield from (
        f"| {name} | " + " | ".join(f"{value(fact):,}" for fact in facts) + " |"
        for name, value in (
            ("records", lambda fact: fact["records"]),
            ("launches", lambda fact: fact["launches"]),
            ("bytes", lambda fact: fact["bytes"]),
        )
    )
    ratios = " | ".join(f"{fact['bytes'] / fact['lanes']:.3f}" for fact in facts)
    yield f"| bytes per lane access | {ratios} |"
    yield ""
    yield (
        "One core. Milliseconds: median (smallest–largest). Rate and peak memory are those of the largest trace. "
        f"Growth is relative to the smallest trace; the traces grow by {' and '.join(growth)}."
    )
    yield ""
    yield "| | " + " | ".join(headings) + " | M lane accesses/s | memory, MiB | growth |"
    yield "|---|" + "---:|" * (len(sizes) + 3)
    yield _row("write", [figure for _, _, figure in written], sizes)
    for name in ("load", *ANALYSES, *RECORDS):
        some = [size for size in sizes if name != "lane_accesses" or size <= LARGEST_TABLE]
        yield _row(
            name, [measured(name, path, repeats) for path, size in zip(paths, sizes, strict=True) if size in some], some
        )
    yield ""
    cores = len(os.sched_getaffinity(0))
    yield f"All {cores} cores, the largest trace."
    yield ""
    yield "| | milliseconds | M lane accesses/s | × one core | memory, MiB |"
    yield "|---|---:|---:|---:|---:|"
    for name in ("load", "select, then summary", "by_object", "record_blocks", "records", "lane_access_blocks"):
        one, figure = (measured(name, paths[-1], repeats, number) for number in (1, 0))
        rate, faster = sizes[-1] / 1e6 / figure.median, one.median / figure.median
        yield f"| {name} | {figure.text} | {rate:,.0f} | {faster:.2f} | {figure.peak / MIB:,.0f} |"


def _row(name: str, figures: Sequence[Figure], sizes: Sequence[int]) -> str:
    """One line; a dash for sizes that were not measured."""
    cells = [figure.text for figure in figures] + ["–"] * (len(SIZES) - len(figures))
    last = figures[-1]
    growth = ", ".join(f"× {figure.median / figures[0].median:,.1f}" for figure in figures[1:])
    return (
        f"| {name} | {' | '.join(cells)} | {sizes[-1] / 1e6 / last.median:,.0f} | {last.peak / MIB:,.0f} | {growth} |"
    )


def fresh_memory() -> float:
    """GB/s at which this machine gives memory that no process had before: the limit of every large table."""
    import numpy as np

    start = time.perf_counter()
    arrays = [np.ones(1 << 27, np.uint8) for _ in range(16)]
    return sum(array.nbytes for array in arrays) / (time.perf_counter() - start) / 1e9


# --- the app ---


@contextmanager
def served(path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The app with this trace: its address, its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # As `snoopie view` starts it, with its modules compiled, as they are where they were used before.
    command = [sys.executable, str(ROOT / "visualizer" / "server" / "serve.py"), f"--port={port}", "--no-token"]
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    variables |= {"STREAMLIT_SERVER_HEADLESS": "true"}
    process = subprocess.Popen(
        [*command, "--", str(path)], env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        yield address, process
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Answer:
    """Seconds from a click until the server has answered, and until the browser has drawn it; and of all cores, those
    that server and browser have spent by then."""

    answered: float
    drawn: float
    spent: float


# What a page has when it is drawn, in JavaScript: Plotly's heatmap, rows of a table, the timeline, the listing of
# source lines, numbers and the graph of traffic.
HEATMAP, TABLE = "seen('.js-plotly-plot .heatmaplayer')", "seen('.table .canvas .row')"
LISTING = "seen('.listing .row.chosen')"
FIGURES = "seen('[data-testid=stMetric]') && seen('.graph .place')"
LANES = "seen('.timeline .stage[data-settled=true]')"
PAGES = {
    "Communication": HEATMAP,
    "Timeline": LANES,
    "Source": LISTING,
    "Kernels": TABLE,
    "Launches": TABLE,
    "Objects": TABLE,
    "Sites": TABLE,
    "Overview": FIGURES,
}
# Without these the browser asks its maker's servers meanwhile.
QUIET = (
    "--no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
)
HEADING = "Array.from(document.querySelectorAll('h2'), shown => shown.textContent).includes('{0}')"
# Looks at every frame that the browser draws, from the press of the mouse (or the opening of the page) on: Playwright's
# own waiting begins before it has found where to click, and looks only twice a second in the end.
WATCH = """
window.watched = new Promise((resolve, reject) => {
    const ours = '[data-testid=stBidiComponentIsolated]';
    const within = () => Array.from(document.querySelectorAll(ours), host => host.shadowRoot).filter(root => root);
    const roots = () => [document, ...within()];
    const seen = selector => roots().flatMap(root => Array.from(root.querySelectorAll(selector)))
        .map(shown => shown.getBoundingClientRect()).some(shown => shown.width > 0 && shown.height > 0);
    const done = () => document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning';
    const begun = performance.now();
    let start = FROM, answered;
    addEventListener('pointerdown', event => start ??= event.timeStamp, {capture: true, once: true});
    const look = () => {
        if (start !== undefined && done() && (CHANGED)) answered ??= performance.now();
        if (answered !== undefined && (DRAWN)) resolve([answered - start, performance.now() - start]);
        else if (performance.now() - (start ?? begun) > 300_000) reject(Error('no answer'));
        else requestAnimationFrame(look);
    };
    look();
});
"""


def watch(since: str, changed: str, drawn: str) -> str:
    """The script whose `watched` tells when, in milliseconds after ``since``, two conditions held."""
    return WATCH.replace("FROM", since).replace("CHANGED", changed).replace("DRAWN", drawn)


def spent() -> float:
    """Seconds of all cores that the processes of this one have spent, but for the app's worker, which gives way."""
    found = {}
    for number, fields in processes.stats():
        try:
            words = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:
            continue
        found[number] = int(fields[1]), int(fields[11]) + int(fields[12]), words

    def is_ours(number: int) -> bool:
        while number != os.getpid():
            if number not in found or b"visualizer.session.worker" in found[number][2]:
                return False
            number = found[number][0]
        return True

    ticks = sum(own for number, (_, own, _) in found.items() if number != os.getpid() and is_ours(number))
    return ticks / os.sysconf("SC_CLK_TCK")


def use_app(path: Path, chromium: str) -> tuple[dict[str, Answer], int]:
    """The answer to each step in a real browser, and the server's largest memory in bytes."""
    from playwright.sync_api import sync_playwright

    answers: dict[str, Answer] = {}
    with served(path) as (address, process), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=QUIET.split())
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(60_000)

        def finish(name: str, before: float) -> None:
            answered, drawn = page.evaluate("() => window.watched")
            answers[name] = Answer(answered / 1000, drawn / 1000, spent() - before)
            page.wait_for_timeout(500)

        def step(name: str, act: Callable[[], object], changed: str, drawn: str) -> None:
            page.evaluate(f"() => {{ {watch('undefined', changed, drawn)} }}")
            before = spent()
            act()
            finish(name, before)

        def visit(view: str, name: str) -> None:
            link = page.get_by_role("link", name=view, exact=True)
            step(name, link.click, HEADING.format(view), PAGES[view])

        page.add_init_script(f"if (window === top) {{ {watch('0', HEADING.format('Overview'), FIGURES)} }}")
        before = spent()
        page.goto(address)
        finish("open the trace", before)
        page.wait_for_timeout(5000)  # a user looks, and the app does what only later pages need
        for time_of in ("first visit", "again"):
            for view in PAGES:
                visit(view, f"{view}, {time_of}")
        visit("Communication", "Communication, a third time")
        points = "Array.from(document.querySelectorAll('.js-plotly-plot'), plot => plot.data?.at(-1)?.hovertext?.[0])"
        other = f"{points}.some(text => text?.endsWith(' wire bytes'))"
        step("Communication, another value", page.get_by_text("Wire bytes", exact=True).first.click, other, other)
        visit("Overview", "Overview, a third time")
        metric = page.locator("[data-testid=stMetricValue]").first.inner_text()
        # A list closes when what it stands in is scrolled.
        chooser = page.get_by_role("combobox", name="Operations")
        chooser.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
        chooser.click()
        shown = json.dumps(metric)
        changed = f"(document.querySelector('[data-testid=stMetricValue]')?.innerText ?? {shown}) !== {shown}"
        step("Overview, a filter", page.get_by_role("option", name="load", exact=True).click, changed, FIGURES)
        browser.close()
        return answers, peak(process.pid)


def app_table(paths: Sequence[Path], sizes: Sequence[int], repeats: int, chromium: str) -> Iterator[str]:
    """Markdown, line by line: the largest trace beside the smallest."""
    chosen = {sizes[-1]: paths[-1], sizes[0]: paths[0]}
    runs = {size: [use_app(path, chromium) for _ in range(repeats)] for size, path in chosen.items()}
    heads = [f"{size / 1e6:,.0f} M: answered | drawn | CPU time" for size in chosen]
    yield "| milliseconds | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * 3 * len(chosen)
    for name in runs[sizes[-1]][0][0]:
        cells = [
            Figure(tuple(seconds(answers[name]) for answers, _ in some), 0).text
            for some in runs.values()
            for seconds in (lambda answer: answer.answered, lambda answer: answer.drawn, lambda answer: answer.spent)
        ]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    peaks = " and ".join(f"{max(most for _, most in some) / MIB:,.0f} MiB" for some in runs.values())
    yield f"The server's peak memory was {peaks}."


# --- the document ---


def machine() -> str:
    """What was measured where, with which versions."""
    model = next(
        (line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas", "zstandard", "streamlit"))
    return (
        f"Measured on {datetime.date.today()} on {len(os.sched_getaffinity(0))} cores of {model}, {memory:.0f} GiB, "
        f"Linux {platform.release().partition('-')[0]}, Python {platform.python_version()}, {packages}."
    )


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def put_into_document(lines: Sequence[str], name: str) -> None:
    """Between the markers of docs/performance.md."""
    begin, end = f"<!-- by {name} -->", f"<!-- end of {name} -->"
    text = DOCUMENT.read_text()
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        sys.exit(f"{DOCUMENT} lacks the lines {begin} and {end}")
    DOCUMENT.write_text(f"{before}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="processes a figure (default: 3)")
    parser.add_argument("--app", action="store_true", help="measure the app instead")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="browser (default: /usr/bin/chromium)")
    parser.add_argument("--folder", type=Path, help="for the traces, about 40 MB (default: a temporary one)")
    parser.add_argument("--no-document", action="store_true", help="print only")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        name, path, cores = arguments.measure
        print(json.dumps(measure(name, path, int(cores))))
        return
    subprocess.run(["make", "-s", "-C", str(ROOT / "nvbit_tool"), "write_trace"], check=True)
    load_before = os.getloadavg()[0]
    lines: list[str] = []

    def told(*some: str) -> None:
        print(*some, sep="\n", flush=True)
        lines.extend(some)

    told(machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        if arguments.app:
            told("", APP, "")
            sizes = (SIZES[0], SIZES[-1])
            paths = [write(folder, size, 1)[0] for size in sizes]
            rows = app_table(paths, sizes, arguments.repeats, arguments.chromium)
        else:
            told(f"The system provides fresh memory at {fresh_memory():.1f} GB/s here, which limits large tables.", "")
            rows = tables(SIZES, arguments.repeats, folder)
        for row in rows:
            told(row)
    load = " and ".join(f"{value:.1f}" for value in (load_before, os.getloadavg()[0]))
    told("", f"Load average at the beginning and at the end, including other processes: {load}.")
    if not arguments.no_document:
        put_into_document(lines, "bench/trace.py" + (" --app" if arguments.app else ""))


if __name__ == "__main__":
    main()
