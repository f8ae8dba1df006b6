"""What is told of builds, whatever the build service answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from tests.flow.sitting import source
from workbench.build.assembly import Code
from workbench.build.model import Finding, Request, Result
from workbench.errors import BuilderError
from workbench.events import BuildFinished, Diagnostic, Event, EventStream
from workbench.flow.builder import Builder
from workbench.flow.building import Building, BuildPlace
from workbench.flow.context import Stop
from workbench.flow.kernel_code import kernel_code

SOURCE = 'from utils.cuda_helpers import compile_cuda_extension\n\nSRC = """\nint k;\nint k;\n"""\n' + (
    'compile_cuda_extension("k", SRC)\n'
)
TWICE = Finding(severity="error", message="k was defined (previous definition at line 2)", unit="cuda.cu", line=3)
NOTE = Finding(severity="note", message="kernel k: 8 registers", unit="cuda.cu", line=2)


class Answers:
    """A builder that has one answer."""

    def __init__(self, result: Result) -> None:
        self.result = result

    async def build(self, request: Request, arch: str, **more: Any) -> Result:
        """The answer."""
        return self.result


def told(result: Result) -> tuple[list[Event], BaseException | None]:
    """The events of an attempt whose one build comes to this result, and how it stopped."""
    found: list[Event] = []
    stream = EventStream()
    stream.subscribe(found.append)
    place = BuildPlace(builder=cast("Builder", Answers(result)), arch="90", full=False, device="cuda")

    async def attempt() -> BaseException | None:
        building = Building(1, source(SOURCE), place, stream)
        await building.begin()
        return (await asyncio.gather(building.finish(), return_exceptions=True))[0] or None  # type: ignore[return-value]

    return found, asyncio.run(attempt())


def test_reason_has_the_lines_of_the_file() -> None:
    """Why a build failed names lines of the user's file, as its diagnostics do, and is not told twice."""
    wrong = {"reason": TWICE.message, "slim_note": TWICE.message, "findings": (TWICE,)}
    events, stopped = told(Result(name="k", ok=False, way="full", **wrong))  # type: ignore[arg-type]
    words = "k was defined (previous definition at line 4)"
    assert [(one.line, one.message) for one in events if isinstance(one, Diagnostic)] == [(5, words)]
    assert [(one.reason, one.slim_note) for one in events if isinstance(one, BuildFinished)] == [(words, "")]
    assert isinstance(stopped, Stop)


def test_why_there_was_no_quick_build() -> None:
    """Where the full build works, or fails for another reason, it is told why the quick one was not taken."""
    for more in ({"ok": True}, {"ok": False, "reason": TWICE.message, "findings": (TWICE,)}):
        events, _ = told(Result(name="k", way="full", slim_note="no quick one", **more))
        assert [one.slim_note for one in events if isinstance(one, BuildFinished)] == ["no quick one"]


def test_figures_of_a_build_that_the_machine_failed() -> None:
    """A build that fails for the machine's fault is a warning to the file, and figures of its kernels stay notes."""
    full = Finding(severity="error", message="no room on the disk")
    result = Result(name="k", ok=False, way="full", reason=full.message, findings=(full, NOTE), machine=True)
    events, stopped = told(result)
    assert [one.severity for one in events if isinstance(one, Diagnostic)] == ["warning", "note"]
    assert isinstance(stopped, BuilderError)


@pytest.mark.parametrize("folder", ["include", "../include", "/opt/include"])
def test_folders_beside_the_file(folder: str) -> None:
    """A folder of headers is looked for beside the user's file."""
    asked: list[Request] = []

    class Noting(Answers):
        async def build(self, request: Request, arch: str, **more: Any) -> Result:
            asked.append(request)
            return self.result

    text = f'load_inline("k", "int a;", extra_include_paths=[{folder!r}])'
    place = BuildPlace(builder=cast("Builder", Noting(Result(name="k", ok=True, way="full"))), arch="90", full=False,
                       device="cpu")  # fmt: skip

    async def attempt() -> None:
        building = Building(1, source(text), place, EventStream())
        await building.begin()
        await building.finish()

    asyncio.run(attempt())
    assert [request.includes for request in asked] == [(str(Path("/work-in-progress") / folder),)]


def test_code_of_cuda_texts_alone() -> None:
    """PTX is made of the CUDA texts of a file; extensions of C++ alone have none, and are no failure."""

    class Coding(Answers):
        async def code(self, request: Request, arch: str, kind: str, *, full: bool) -> Code:
            return Code(text=f"{kind} {arch}" if request.cuda else "", reason="" if request.cuda else "no CUDA text")

    result = Result(name="k", ok=True, way="full")
    place = BuildPlace(builder=cast("Builder", Coding(result)), arch="90", full=False, device="cuda")
    code = asyncio.run(kernel_code(source(f'{SOURCE}load_inline("c", "int a;")\n'), place, "ptx"))
    assert code == Code(text="// k\nptx 90")
