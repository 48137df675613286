"""What becomes of the program where NVBit would end it: a stand-in, linked to what the collector has against that."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.collector import library_with

STAND_IN = r"""
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>

#include "driver/nvbit_end.h"

using namespace snoopie;

namespace {

const char* how() {
    const char* const given = getenv("HOW");
    return given ? given : "";
}

bool is(const char* one) { return std::strcmp(how(), one) == 0; }

}  // namespace

extern "C" {

struct {
    int of_its_own[10];
    pthread_mutex_t lock;
} nvbit;

}  // extern "C"

namespace {

[[noreturn]] void fail() {
    std::printf("ERROR file nvbit_imp.cpp line %d\n", 1844);
    if (is("assertion")) assert(!"an instruction that it knows");
    if (is("exit")) exit(5);
    _exit(4);
}

void event(bool within);

int answer() {
    pthread_mutex_lock(&nvbit.lock);
    // As in a call of the driver's, which tells NVBit of it.
    if (is("nested")) into_nvbit([] { event(false); });
    else if (!is("never") && !is("term")) fail();
    pthread_mutex_unlock(&nvbit.lock);
    return 7;
}

std::mutex ours;

// What NVBit calls of the collector, in code of which nothing that it holds may stay behind.
void tool() {
    const OutOfNvbit here;
    try {
        const std::lock_guard lock(ours);
        std::printf("answer: %d\n", is("unknown") ? (fail(), 0) : from_nvbit(answer));
    } catch (const NvbitEnded& ended) {
        std::printf("thrown: %s\n", ended.what());
    }
}

void event(bool within) {
    pthread_mutex_lock(&nvbit.lock);
    pthread_mutex_lock(&nvbit.lock);
    puts("an event");
    if (within) tool(); else fail();
    pthread_mutex_unlock(&nvbit.lock);
    pthread_mutex_unlock(&nvbit.lock);
}

}  // namespace

extern "C" void _ZN5Nvbit4termEv() { if (is("term")) fail(); }

__attribute__((constructor)) static void program() {
    if (!*how()) return;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&nvbit.lock, &recursive);
    atexit(_ZN5Nvbit4termEv);
    if (is("loading")) fail();
    when_nvbit_ends([](const char* why) { std::printf("told: %s\n", why); });
    const bool within = is("within") || is("nested") || is("unknown") || is("never") || is("term");
    for (int i = 0; i < 2; ++i) std::printf("event %d: %d\n", i, into_nvbit([&] { event(within); }));
    // Another thread gets what NVBit and the collector hold.
    std::thread([] {
        const bool free = pthread_mutex_trylock(&nvbit.lock) == 0 && ours.try_lock();
        std::printf("locks: %s\n", free ? "free" : "held");
        if (free) ours.unlock(), pthread_mutex_unlock(&nvbit.lock);
    }).join();
    std::printf("ended: %d\n", nvbit_has_ended());
    std::fflush(stdout);
}
"""
WRAPPED = ("exit", "_exit", "__assert_fail", "atexit", "pthread_mutex_init", "printf", "puts")
WHY = "NVBit, which instruments kernels, could not go on; what it printed says why"
ERROR = "ERROR file nvbit_imp.cpp line 1844"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("nvbit_end")
    return library_with(("driver/nvbit_end.cpp", "driver/nvbit_wraps.cpp"), STAND_IN, WRAPPED, folder)


def run(library: str, how: str) -> tuple[int, list[str], list[str]]:
    """A program that exits with 3, in which NVBit does so: its status, and the lines of both outputs."""
    environment = {**os.environ, "LD_PRELOAD": library, "HOW": how}
    program = [sys.executable, "-S", "-c", "raise SystemExit(3)"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.parametrize("how", ["_exit", "exit", "assertion"])
def test_the_program_goes_on_without_it(library: str, how: str) -> None:
    status, stdout, stderr = run(library, how)
    assert stdout == [f"told: {WHY}", "event 0: 0", "event 1: 0", "locks: free", "ended: 1"]
    assert stderr[:2] == ["an event", ERROR]
    assert ("knows\"' failed." in stderr[-1]) == (how == "assertion")
    assert status == 3


def test_who_called_it_hears_of_it_and_gives_back_what_it_held(library: str) -> None:
    status, stdout, stderr = run(library, "within")
    assert stdout == [f"thrown: {WHY}", f"told: {WHY}", "event 0: 1", "event 1: 0", "locks: free", "ended: 1"]
    assert (status, stderr) == (3, ["an event", ERROR])


def test_in_a_call_that_it_makes_itself(library: str) -> None:
    """What is around the call goes on, with the lock that it holds; nothing is called after that."""
    status, stdout, stderr = run(library, "nested")
    assert stdout == ["answer: 7", f"told: {WHY}", "event 0: 1", "event 1: 0", "locks: free", "ended: 1"]
    assert (status, stderr) == (3, ["an event", "an event", ERROR])


def test_it_may_not_be_able_to_end_itself(library: str) -> None:
    status, stdout, stderr = run(library, "term")
    assert stdout[-1] == "ended: 0"
    assert (status, stderr) == (3, ["an event", "an event", ERROR])


def test_nothing_happens(library: str) -> None:
    status, stdout, stderr = run(library, "never")
    assert stdout == ["answer: 7", "event 0: 1", "answer: 7", "event 1: 1", "locks: free", "ended: 0"]
    assert (status, stderr) == (3, ["an event", "an event"])


@pytest.mark.parametrize(("how", "status"), [("loading", 4), ("unknown", 4)])
def test_whose_error_it_is(library: str, how: str, status: int) -> None:
    """Where nothing else is possible, the program ends, and the user learns whose error it was."""
    ended, _, stderr = run(library, how)
    assert ended == status
    assert stderr[-1].startswith("snoopie: NVBit, which instruments kernels, could not go on and has ended the program")
