"""Which object holds an address at a time: the same, whether objects are looked through or followed in time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from snoopie.analysis.objects import lookup
from snoopie.analysis.objects.lookup import Lookup


@pytest.mark.parametrize("seed", range(20))
def test_in_the_order_of_time_or_not(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    number, wanted = int(random.integers(1, 60)), int(random.integers(1, 200))
    address = 100 * (random.permutation(200)[:number] + 10)
    size = np.full(number, 100)
    allocated = random.integers(1, 100, number)
    # Some are never freed, some before they are allocated.
    freed = np.where(random.random(number) < 0.3, 0, allocated + random.integers(-5, 50, number))
    inside = np.zeros(number, np.int64)
    for place in range(1, number):
        outer = int(random.integers(0, place))
        if random.random() < 0.4 and inside[outer] == 0:
            inside[place], address[place], size[place] = outer + 1, address[outer] + 10 * (place % 9), 10
            allocated[place], freed[place] = allocated[outer], freed[outer]
    objects = pd.DataFrame(
        {
            "address": address.astype(np.uint64),
            "bytes": size,
            "allocated": allocated,
            "freed": freed,
            "inside": inside,
        },
        index=np.arange(1, number + 1),
    )
    found = Lookup(objects)
    addresses, times = random.integers(900, 22_000, wanted).astype(np.uint64), random.integers(0, 160, wanted)
    slowly = found.find(addresses, times)
    monkeypatch.setattr(lookup, "_EPOCHS", 0)
    monkeypatch.setattr(lookup, "_STEP", 0)
    assert found.find(addresses, times).tolist() == slowly.tolist()
