"""A build service with compilers of our own, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.build.fakes import calls, toolchain
from workbench.build.cache import Cache
from workbench.build.jobs import Slots
from workbench.build.making import Order
from workbench.build.model import Request, Result, Toolchain
from workbench.build.service import BuildService


class Desk:
    """A service with a compiler of our own, whose cache lies beside it."""

    def __init__(self, folder: Path, tools: Toolchain | None = None, cores: int = 2) -> None:
        self.folder = folder
        self.tools = tools or toolchain(folder)
        self.service = BuildService(self.tools, Cache(folder / "cache", 10_000_000), Slots(cores))

    async def build(self, text: str = "int a;", *, limit: float = 60.0, full: bool = False, **more: Any) -> Result:
        """Build CUDA text."""
        request = Request(name="k", cuda=text, **more)
        return await self.service.build(Order(request=request, arch="90", full=full, limit=limit))

    @property
    def compiled(self) -> int:
        """How many units were compiled so far."""
        return sum("-c cuda.cu" in call for call in calls(self.folder))
