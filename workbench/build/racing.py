"""Two builds of which the second decides where the first fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from workbench.build.model import Result

Build = Coroutine[Any, Any, Result]


async def first_good(
    first: Build, second: Callable[[], Build], *, together: bool, goes_on: Callable[[Result], bool]
) -> tuple[Result, Result | None]:
    """The first build's result, and the second's where the first failed and ``goes_on`` says of its result to go on.

    ``together``: both start at once, and a second that is not needed is ended.
    """
    beside = asyncio.ensure_future(second()) if together else None
    try:
        result = await first
        if result.ok or not goes_on(result):
            return result, None
        return result, await (beside or second())
    finally:
        if beside is not None:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)  # what it came to makes no difference any more
