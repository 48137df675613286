"""textures: what cannot be measured is counted for each of its sites, apart from what can."""

from __future__ import annotations

import pytest
from gpu_runs import Runner
from gpu_traffic import Where, by_launch, dense, kernel_name, total

UNKNOWN = -2

# Line → opcode without modifiers, operation, accesses, lanes: the table at the top of textures.cu.
# (kernel, opcode) → operation, accesses, lanes. The compiler's lines of such instructions are not always theirs.
SITES = {
    ("fetch", "TLD"): ("load", 16, 512),
    ("some", "TLD"): ("load", 14, 400),
    ("none", "TLD"): ("load", 0, 0),
    ("sample", "TEX"): ("load", 16, 512),
    ("move", "SULD"): ("load", 16, 512),
    ("move", "SUST"): ("store", 16, 512),
}


# GPU 0's own memory, or GPU 1's, as a texture.
@pytest.fixture(scope="session", params=[0, 1])
def owner(request: pytest.FixtureRequest) -> int:
    return request.param


def test_unmeasured_sites_have_their_executions(runner: Runner, pair: tuple[str, ...], owner: int) -> None:
    trace = runner.traced("textures", owner, visible=pair).trace
    table = trace.not_measured()
    assert table.file.str.endswith("textures.cu").all()
    found = {
        (kernel_name(row.kernel), row.opcode.split(".")[0]): (row.operation, row.accesses, row.lanes)
        for row in table.itertuples()
    }
    assert found == SITES
    assert len(table) == trace.totals["unmeasured_sites"] == len(SITES)
    assert any("cannot be measured" in sentence for sentence in trace.losses())


def test_a_load_beside_them_is_measured(runner: Runner, pair: tuple[str, ...], owner: int) -> None:
    trace = runner.traced("textures", owner, visible=pair).trace
    found = total(by_launch(trace, "textures").values())
    measured = {where: traffic for where, traffic in found.items() if where.owner != UNKNOWN}
    assert measured == {Where(0, 1, "load", "load"): dense("load", 4, 512)}
    assert trace.totals["launches_lost"] == 0
