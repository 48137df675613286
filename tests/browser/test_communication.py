"""A person looks at who talks to whom: clicks on GPUs, arrows and cells filter all views."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, at_rest, picture, running_app, settled
from tests.browser.steps import (
    GRAPH,
    MATRIX,
    cells,
    go_to,
    in_address,
    metric,
    over_a_point,
    over_the_first_place,
    rows,
    set_to,
    table_at,
)
from tests.support import many

OpenPage = Callable[[str], Page]


def click_a_point(page: Page, picture: str, point: int) -> None:
    over_a_point(page, picture, point)
    page.mouse.down()
    page.mouse.up()
    settled(page)


def by_keyboard(page: Page, choice: str) -> None:
    page.get_by_role("combobox", name="Show").focus()
    page.keyboard.type(choice)
    # Before the list has only that, Enter would choose what is first in it.
    expect(page.get_by_role("option")).to_have_text([choice])
    page.keyboard.press("Enter")
    settled(page)


def test_the_graph_has_the_room_that_a_page_has(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    """Also where it had less before."""
    page = open_page(sample_app("halo-4gpu"))
    graph = page.locator(".graph")
    places = graph.locator(".place")
    expect(places).to_have_count(4)
    for width in (640, 900):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
    left, *_, right = sorted(at_rest(place)[0] for place in places.all())
    assert right - left > 0.55 * at_rest(graph)[2]


def test_the_graph_by_keyboard(app: str, open_page: OpenPage) -> None:
    """Places come first, then arrows; each says what it is, and is chosen by Enter."""
    page = open_page(app)
    go_to(page, "Communication")
    graph = page.locator(".graph").filter(visible=True)
    places = graph.get_by_role("listbox", name="arrows between 4 places")
    active = graph.get_by_role("option").and_(graph.locator(".active"))
    places.focus()
    places.press("ArrowRight")
    expect(active).to_have_accessible_name(re.compile("^GPU 0"))
    places.press("End")
    expect(active).to_have_accessible_name(re.compile("^GPU . → GPU ., .* bytes$"))
    arrow = str(active.get_attribute("aria-label"))
    expect(graph.locator(".tip")).to_have_text(arrow.replace(", ", "", 1))
    places.press("Escape")
    expect(graph.locator(".tip")).to_be_hidden()
    places.press("Enter")
    issuer, owner = arrow.partition(",")[0].split(" → ")
    expect(page.get_by_text(f"All views show what {issuer} issued on the memory of {owner}")).to_be_visible()


def test_matrix_in_both_readings(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Communication")
    expect(page.get_by_text("The row (where an arrow begins) executed the instructions")).to_be_visible()
    # By row: GPU 3 issued 14400 bytes at GPU 0; each of the others 10240 at the next.
    assert cells(page) == sorted(["10 KiB"] * 3 + ["4.1 KiB"] * 2 + ["14.1 KiB"])
    set_to(page, "Where data flowed")
    expect(page.get_by_text("Data left the row")).to_be_visible()
    heatmap = page.locator(".js-plotly-plot").first
    expect(heatmap.get_by_text("12.1 KiB").first).to_be_visible()
    assert cells(page).count("4.1 KiB") == 1
    set_to(page, "Wire efficiency")
    expect(heatmap.get_by_text("KiB")).to_have_count(0)
    # From GPU 2 to GPU 1 flow loads alone, of 128 bytes in 32 wire units.
    assert "12.5 %" in cells(page)


def test_a_cell_filters_all_views(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Communication")
    # By rows: GPU 0 → 1, GPU 1 → 0 and 2, GPU 2 → 0 …
    click_a_point(page, MATRIX, 3)
    expect(page.get_by_text("All views show what GPU 2 issued on the memory of GPU 0")).to_be_visible()
    in_address(page, "issuers=GPU+2")
    in_address(page, "owners=GPU+0")
    expect(rows(table_at(page))).to_have_count(1)
    picture(page, "communication-pair")
    address = page.url
    go_to(page, "Overview")
    # One launch: 16 atomics of 4 bytes, and 16 × 32 reductions of 8.
    assert metric(page, "Bytes") == "4.1 KiB"
    # The address alone brings a colleague to the same.
    other = open_page(address)
    expect(other.get_by_text("All views show what GPU 2 issued on the memory of GPU 0")).to_be_visible()
    settled(other)
    # The same cell again takes the choice back.
    click_a_point(other, MATRIX, 3)
    expect(other.get_by_text("all views show only that")).to_be_visible()
    in_address(other, "issuers", absent=True)


def test_a_gpu_and_an_arrow_of_the_graph(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Communication")
    points = over_a_point(page, GRAPH)
    # Heads of arrows come first, then the places.
    assert points.count() == 6 + 4
    click_a_point(page, GRAPH, points.count() - 1)
    expect(page.get_by_text("All views show what GPU 3 issued.")).to_be_visible()
    expect(rows(table_at(page))).to_have_count(1)
    click_a_point(page, GRAPH, 0)
    expect(page.get_by_text("All views show what GPU 3 issued on the memory of GPU 0")).to_be_visible()
    page.get_by_role("button", name="Show everything").click()
    settled(page)
    expect(rows(table_at(page))).to_have_count(6)


def test_the_keyboard_chooses_too(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Communication")
    by_keyboard(page, "GPU 1 → GPU 2")
    expect(page.get_by_text("All views show what GPU 1 issued on the memory of GPU 2")).to_be_visible()


def test_sides_and_libraries(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Communication")
    # By instructions: 43008 bytes each way between the GPUs; the host, two multicast objects, one that is not known.
    assert cells(page) == sorted(["42 KiB"] * 2 + ["1 KiB"] * 2 + ["512 B"] * 2 + ["256 B"])
    assert [metric(page, name) for name in ("NCCL", "Program")] == ["80 KiB", "7.2 KiB"]
    for kind in ("host", "unknown", "multicast"):
        expect(page.get_by_test_id("stCaptionContainer").get_by_text(kind, exact=True)).to_be_visible()
    set_to(page, "NCCL")
    assert cells(page) == ["40 KiB"] * 2
    in_address(page, "library=NCCL")
    set_to(page, "All")
    set_to(page, "Accesses")
    set_to(page, "Both")
    # Copies have no accesses: bytes again, and the other values cannot be chosen.
    expect(page.get_by_text("Copies have bytes only")).to_be_visible()
    expect(page.get_by_role("radio", name="Lanes", exact=True)).to_be_disabled()
    set_to(page, "Where data flowed")
    expect(page.locator(".js-plotly-plot").first.get_by_text("1 MiB").first).to_be_visible()
    # From the host: 1 MiB copied and 1 KiB loaded; to it, 4 KiB copied. Between the GPUs 42 and twice 64 KiB.
    assert cells(page) == sorted(["1 MiB"] * 2 + ["4 KiB"] * 2 + ["170 KiB"] * 2 + ["512 B"] * 2 + ["256 B"])
    picture(page, "mixed-communication")
    # What was chosen among the values is still there for the device's side.
    set_to(page, "Device")
    expect(page.get_by_role("radio", name="Accesses", exact=True)).to_be_checked()
    other = open_page(page.url)
    other.get_by_role("heading", name="Communication", exact=True).wait_for()
    expect(other.get_by_role("radio", name="Accesses", exact=True)).to_be_checked(timeout=PATIENCE)


def test_links_between_the_gpus(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Communication")
    set_to(page, "Links")
    in_address(page, "picture=links")
    tooltip = over_the_first_place(page)
    expect(tooltip).to_contain_text("GPU-00000000-aaaa-bbbb-cccc-000000000000")
    expect(tooltip).to_contain_text("used by rank 0")
    picture(page, "mixed-links")
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text("All views show what GPU 0 issued.")).to_be_visible()


def test_sixteen_gpus_of_two_hosts(tmp_path_factory: pytest.TempPathFactory, open_page: OpenPage) -> None:
    with running_app(str(many.write_many(tmp_path_factory.mktemp("many")))) as address:
        page = open_page(address)
        go_to(page, "Communication")
        over_a_point(page, MATRIX)
        graph = page.locator(".graph")
        for host in ("node1", "node2"):
            expect(graph.get_by_text(host)).to_be_visible()
        expect(page.get_by_text(f"64 of {16 * 7 + 16} arrows")).to_be_visible()
        page.set_viewport_size({"width": 1400, "height": 1900})
        picture(page, "communication-16")
        expect(page.get_by_text("Over the links")).to_be_visible()
        rates = table_at(page, 2)
        expect(rows(rates).first).to_contain_text("GB/s", timeout=PATIENCE)
        page.set_viewport_size({"width": 1000, "height": 1400})
        picture(page, "communication-16-narrow")
        by_keyboard(page, "GPU 9 → GPU 10")
        expect(page.get_by_text("All views show what GPU 9 issued on the memory of GPU 10")).to_be_visible()
