"""Wrong arguments of every public method are refused, in one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie.errors import SnoopieError, UsageError
from tests.support import everything, ring

# Arguments without a default, by their names.
NEEDED: dict[str, Any] = {
    "object": 2,
    "length": 1024,
    "stack": 1,
    "stacks_": [1],
    "file": ring.RING_CU,
    "line": 6,
    "line_id": 1,
    "place": 0,
    "call": "cuLaunchKernel",
    "first": 0,
    "last": 10,
    "what": "kernel",
    "id": 1,
    "operation": "AllReduce",
    "reduction": "sum",
    "type": "float32",
    "communicator": "x",
    "pattern": "x",
    "text": "x",
    "path": "/nowhere/log.csv",
    "source": "/nowhere.zst",
    "a": "/nowhere.zst",
    "b": "/nowhere.zst",
    "clean": "/nowhere.zst",
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> snoopie.Trace:
    return snoopie.load(everything.everything_builder().write(tmp_path_factory.mktemp("trace") / "x.zst"))


@pytest.fixture(scope="module")
def comparison(trace: snoopie.Trace) -> snoopie.Comparison:
    return snoopie.compare(trace, trace)


def wrong_values(hint: Any) -> Iterator[Any]:
    """What the annotation of an argument does not allow."""
    every = [hint, *get_args(hint)]
    whole = any(one is int or get_origin(one) is Annotated for one in every)
    yield object()
    yield b"x"
    if whole:
        yield from (2.5, True)
        yield from ("x",) if str not in every else ()
    if hint is float:
        yield from ("3", None)
    if hint is bool:
        yield from (1, "yes", None)
    if hint is str:
        yield from (5, None, ["x"])
    for one in every:
        if get_origin(one) is Literal:
            yield from ("nonsense", 5)
        if get_origin(one) is Annotated:
            yield get_args(one)[1].least - 1


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    for of in (snoopie.Trace, snoopie.Comparison):
        for name, method in inspect.getmembers(of, inspect.isfunction):
            if not name.startswith("_"):
                yield f"{of.__name__}.{name}", method
    yield "load", snoopie.load
    yield "compare", snoopie.compare


def cases() -> Iterator[Any]:
    for name, method in methods():
        function = inspect.unwrap(method)
        hints = {
            key: hint for key, hint in function.__annotations__.items() if key not in ("return", "scheduler", "names")
        }
        known = get_type_hints(type("", (), {"__annotations__": hints}), function.__globals__, include_extras=True)
        for argument, hint in known.items():
            # A label is asked for often, and any number has one.
            if argument != "place":
                yield pytest.param(name, argument, hint, id=f"{name}-{argument}")


def call(method: Callable[..., Any], argument: str, value: Any) -> None:
    parameters = inspect.signature(method).parameters
    if parameters[argument].kind is inspect.Parameter.VAR_POSITIONAL:
        result = method(value)
    else:
        needed = {
            name: NEEDED[name]
            for name, parameter in parameters.items()
            if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        }
        result = method(**needed | {argument: value})
    if inspect.isgenerator(result):
        list(result)


@pytest.mark.parametrize(("name", "argument", "hint"), cases())
def test_wrong_values_are_refused(
    trace: snoopie.Trace, comparison: snoopie.Comparison, name: str, argument: str, hint: Any
) -> None:
    of, _, method = name.rpartition(".")
    bound = getattr({"Trace": trace, "Comparison": comparison, "": snoopie}[of], method)
    values = list(wrong_values(hint))
    assert values
    for value in values:
        with pytest.raises(SnoopieError) as error:
            call(bound, argument, value)
        said = str(error.value)
        assert "\n" not in said and "; " in said and 20 < len(said) < 400, said
        assert "/nowhere" not in said, value


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda trace: trace.reuse(by="x"), "there is no reuse by 'x'; use 'object' or 'site'"),
        (lambda trace: trace.object_offsets(2, bins=0), "bins cannot be 0; give a whole number of at least 1"),
        (lambda trace: trace.object_heat(2, bins=-1), "bins cannot be -1; give a whole number of at least 1"),
        (lambda trace: trace.object_heat(2, operations="load"), "operations cannot be 'load'; give a list of names"),
        (lambda trace: trace.single_copies(limit=-1), "limit cannot be -1; give a whole number of at least 0"),
        (lambda trace: trace.lane_accesses(-1), "limit cannot be -1; give a whole number of at least 0 or None"),
        (lambda trace: trace.by_pair(5), "reading cannot be 5; give one of issued, flow"),
        (lambda trace: trace.by_call("process", 5), "keys cannot be 5; give text"),
        (lambda trace: trace.select(between=(1, 2, 3)),
         "between cannot be (1, 2, 3); give 2 numbers, as in (0, 10) or None"),
        (lambda trace: trace.select(launches=["x"]), "launches cannot be ['x']; give a whole number or a list of whole "
         "numbers or None"),
        (lambda trace: trace.plot_lines(width="3in"), "width cannot be '3in'; give a number"),
        (lambda trace: snoopie.load(5), "source cannot be 5; give text or a path or a list of them"),
        (lambda trace: snoopie.load(""), "no trace file was named; give the path of one"),
        (lambda trace: snoopie.compare(trace, 5), "b cannot be 5; give a Trace or text or a path or a list of them"),
        (lambda trace: snoopie.load("x", allow_truncated=1), "allow_truncated cannot be 1; give True or False"),
    ],
)  # fmt: skip
def test_the_sentences(trace: snoopie.Trace, wrong: Callable[[snoopie.Trace], object], sentence: str) -> None:
    with pytest.raises(SnoopieError) as error:
        wrong(trace)
    assert str(error.value) == sentence


def test_what_numpy_and_pandas_have_is_taken(trace: snoopie.Trace) -> None:
    assert len(trace.single_launches(limit=np.int64(2))) == 2
    assert len(trace.select(launches=trace.launches.index[:2]).launches) == 2
    assert len(trace.select(launches=pd.Series([1, 2])).launches) == 2
    assert len(trace.select(launches=(number for number in (1, 2))).launches) == 2
    assert trace.stack_label(trace.objects["stack"]).iloc[1] == "main.cu:12 main"
    trace.plot_matrix(width=np.float64(3.5))


@pytest.mark.parametrize(
    ("selected", "sentence"),
    [
        ({"kernels": "absent"}, "kernels: nothing is called absent"),
        ({"kernels": ["*ring_put*", "absent"]}, "kernels: nothing is called absent"),
        ({"files": "x.cu"}, "files: nothing is called x.cu"),
        ({"operations": ["fetch"]}, "operations: nothing is called fetch"),
        ({"issuers": "GPU 9"}, "issuers: nothing is called GPU 9"),
        ({"owners": [0, 77]}, "owners: nothing is called 77"),
        ({"processes": 5}, "processes: nothing is called 5"),
        ({"launches": [1, 999]}, "launches: nothing is called 999"),
        ({"launches": range(900, 950)}, "launches: nothing is called 900 to 949"),
    ],
)
def test_names_that_match_nothing_warn(trace: snoopie.Trace, selected: dict[str, Any], sentence: str) -> None:
    with pytest.warns(UserWarning, match=f"^{sentence}") as warned:
        trace.select(**selected)
    assert len(warned) == 1
    # It is about the line that called.
    assert warned[0].filename == __file__


def test_lines_and_calls_that_match_nothing_warn(trace: snoopie.Trace) -> None:
    for about in (
        lambda: trace.file_lines("x.cu"),
        lambda: trace.line_sites("x.cu", 6),
        lambda: trace.line_matrix("x.cu", 6),
        lambda: trace.line_kernels("x.cu", 6),
        lambda: trace.line_objects("x.cu", 6),
        lambda: trace.line_stacks("x.cu", 6),
        lambda: trace.single_calls("cuNone"),
    ):
        with pytest.warns(UserWarning, match=r"nothing is called (x\.cu|cuNone)") as warned:
            about()
        assert warned[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_names_that_match_do_not_warn(trace: snoopie.Trace) -> None:
    trace.select(kernels="*ring_*", files=ring.RING_CU, operations=["load"], issuers=0, owners=["GPU 1", -1, "host"])
    trace.select(processes=[0], launches=range(1, 10_000), kernels=[])
    # In a view of what has no such line, the whole trace still has it.
    trace.select(issuers=1).line_sites(ring.RING_CU, 6)
    with pytest.raises(UsageError):
        trace.stack(99)
