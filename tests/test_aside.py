"""Calls that never return keep neither the program nor whoever asks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from workbench.aside import Aside


def _fail() -> None:
    raise KeyError("missing")


@pytest.fixture
def held() -> threading.Event:
    """Set it, and calls of ``held.wait`` return."""
    return threading.Event()


async def test_what_a_call_returns_or_raises() -> None:
    """The caller gets the call's own value or error, waiting or not."""
    aside = Aside()
    assert await aside.run(lambda: 3) == 3
    with pytest.raises(KeyError, match="missing"):
        await aside.run(_fail)
    assert aside.wait(lambda: 4) == 4
    with pytest.raises(KeyError, match="missing"):
        aside.wait(_fail)


async def test_a_call_that_does_not_return_is_given_up(held: threading.Event) -> None:
    """After the limit the caller goes on; the next one waits for that call, as long as its own limit lasts."""
    aside, made = Aside(), list[int]()
    with pytest.raises(TimeoutError):
        await aside.run(held.wait, 0.01)
    with pytest.raises(TimeoutError):
        await aside.run(lambda: made.append(1), 0.01)
    with pytest.raises(TimeoutError):
        aside.wait(lambda: made.append(2), 60)
    waiting = asyncio.ensure_future(aside.run(lambda: 3))
    await asyncio.sleep(0)
    held.set()
    assert (await waiting, made) == (3, [])


async def test_a_last_call_is_not_waited_for(held: threading.Event) -> None:
    """A last call is made, and given up where it takes its time; while another is under way it is left out."""
    aside, left = Aside(), list[int]()
    aside.leave(lambda: left.append(1))
    aside.leave(held.wait)
    aside.leave(lambda: left.append(2))
    held.set()
    assert left == [1]


def test_waiting_has_a_limit_too(held: threading.Event) -> None:
    """A caller that blocks goes on after the limit."""
    with pytest.raises(TimeoutError):
        Aside().wait(held.wait, 0.01)
    held.set()


_NEVER = """
import asyncio, time
from workbench.aside import Aside
async def main():
    try:
        await Aside().run(lambda: time.sleep(1000), 0.01)
    except TimeoutError:
        print("given up")
asyncio.run(main())
"""


def test_the_program_ends_all_the_same() -> None:
    """A call that never returns does not hold up the end of the program."""
    done = subprocess.run([sys.executable, "-c", _NEVER], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "given up\n"), done.stderr
