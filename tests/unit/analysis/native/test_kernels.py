"""Which kernels are the same, however two tools write their names."""

from __future__ import annotations

import pytest

from snoopie.analysis.native.kernels import same


@pytest.mark.parametrize(
    ("exact", "clean"),
    [
        (("_Z1kPi", "k(int*)"), ("_Z1kPi", "something else")),
        (("_Z1kPi", "k(int*)"), ("", "k(int *)")),
        (
            ("_Z1kILi4ELb1EEvPf", "void n::k<4, true>(float*)"),
            ("", "void n::k<(int)4, (bool)1>(float *)"),
        ),
        (("", "void k<float>(float*)"), ("", "k<float>")),
        (("", "void at::native::k<float>(at::Tensor)"), ("", "at::native::k")),
    ],
)
def test_the_same_kernel(exact: tuple[str, str], clean: tuple[str, str]) -> None:
    left, right = same([exact, ("_Z5otherv", "other()")], [("", "third()"), clean])
    assert left == {exact: 0} and right == {clean: 0}


def test_what_could_be_several_is_none() -> None:
    exact = [("_Z1", "k<float>(int)"), ("_Z2", "k<double>(int)")]
    assert same(exact, [("", "k")]) == ({}, {})
    # Each by what tells them apart.
    clean = [("", "k<double>(int)"), ("", "k<float>(int)")]
    left, right = same(exact, clean)
    assert left[exact[0]] == right[clean[1]] != left[exact[1]] == right[clean[0]]
