"""Builds whose library lacks names: which build is believed, and what is told."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from tests.build.test_symbols import Bench
from workbench.build.linked import build_complete
from workbench.build.making import MadeBy, Order
from workbench.build.model import Finding, Request, Result, Toolchain
from workbench.build.sharing import Early

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")

LACKS, WHOLE = "int gone(int); int use(int v) { return gone(v); }", "int gone(int) { return 1; }"
NOTE = Finding(severity="note", message="a figure")


class Builds:
    """A build service with these libraries, quick and full; it keeps what it was asked for."""

    def __init__(self, bench: Bench, quick: str, full: str) -> None:
        self.toolchain: Toolchain = bench.tools
        self.libraries = {made_by: str(bench.link(text, f"{made_by}.so")) for made_by, text in
                          (("slim", quick), ("full", full))}  # fmt: skip
        self.asked: list[MadeBy] = []

    async def build(self, order: Order, early: Early) -> Result:
        """As the service answers."""
        made_by: MadeBy = "full" if order.unfit or order.full else "slim"
        self.asked.append(made_by)
        library = self.libraries[made_by]
        return Result(name="k", ok=True, way=made_by, made_by=made_by, library=library, findings=(NOTE,))


ORDER = Order(request=Request(name="k", cpp=LACKS), arch="90")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Nothing but a torch without libraries."""
    return Bench(tmp_path)


async def built(builds: Builds, order: Order) -> tuple[Result, list[str]]:
    """The result, and the messages that were told early."""
    early: list[str] = []
    result = await build_complete(builds, order, lambda found: early.extend(one.message for one in found))  # type: ignore[arg-type]
    return result, early


async def test_quick_build_lacks_what_the_full_one_has(bench: Bench) -> None:
    """What the quick build's library lacks is told at once, and the full build decides."""
    builds = Builds(bench, LACKS, WHOLE)
    result, early = await built(builds, ORDER)
    assert (result.ok, result.library, builds.asked) == (True, builds.libraries["full"], ["slim", "full"])
    assert [message.partition(":")[0] for message in early] == ["undefined symbol gone(int)"]


async def test_both_builds_lack_it(bench: Bench) -> None:
    """Where the full build lacks it, too, the build has failed; the library is named for who can bring the name."""
    builds = Builds(bench, LACKS, LACKS)
    result, early = await built(builds, ORDER)
    assert (result.ok, result.library, result.reason) == (False, builds.libraries["full"], early[0])
    assert [(one.severity, one.line) for one in result.findings] == [("error", 1), ("note", 0)]


async def test_whole_library_is_asked_for_once(bench: Bench) -> None:
    """A library that lacks nothing is the result."""
    builds = Builds(bench, WHOLE, WHOLE)
    assert (await built(builds, ORDER))[0].ok
    assert builds.asked == ["slim"]


async def test_full_build_that_cannot_link(bench: Bench) -> None:
    """Where a CPU build of torch cannot link CUDA text the quick build's library is what is looked at."""
    bench.tools = dataclasses.replace(bench.tools, torch_cuda="")
    builds = Builds(bench, LACKS, WHOLE)
    result, early = await built(builds, Order(request=Request(name="k", cuda=LACKS), arch="90"))
    assert (result.ok, early, builds.asked) == (False, [], ["slim"])
