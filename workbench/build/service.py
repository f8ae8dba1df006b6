"""The build service: each request is built once however many ask, the quick build first, the full one behind it."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from functools import partial

from workbench.build import fast
from workbench.build.assembly import Code, Kind, kernel_code
from workbench.build.cache import Cache
from workbench.build.flags import checked
from workbench.build.jobs import Slots
from workbench.build.making import MadeBy, Maker, Order
from workbench.build.model import Finding, Result, Toolchain
from workbench.build.obstacles import obstacle
from workbench.build.racing import first_good
from workbench.build.sharing import Early, Shared

_TOGETHER = 4
"""With room for so many compilers the full build starts beside the quick one; else it would only slow it down."""
_KEPT_FAILURES = 64
_MISSING = "No such file or directory"


class BuildService:
    """Builds extension modules. All methods belong to one asyncio loop."""

    def __init__(self, toolchain: Toolchain, cache: Cache, slots: Slots) -> None:
        self.toolchain = toolchain
        self._cache = cache
        self._slots = slots
        self._maker = Maker(toolchain, cache, self._slots)
        self._together = slots.count >= _TOGETHER
        self._running: dict[tuple[str, bool], Shared] = {}
        self._failed: dict[tuple[str, bool], Result] = {}
        self._unfit: set[str] = set()
        """Requests whose quick build was refused by a rank when it was loaded."""

    async def build(self, order: Order, early: Early = lambda found: None) -> Result:
        """The result of an order. ``early`` hears what the quick build found wrong before the full one has decided.

        Equal orders share one build, which is ended when nobody waits for it any more.
        """
        request, wrong = checked(order.request)
        if wrong:
            return Result(name=request.name, ok=False, way="none", reason=wrong[0].message, findings=wrong)
        order = dataclasses.replace(order, request=request)
        which = (self._maker.key(order, "full"), order.full)
        if which in self._failed:
            return dataclasses.replace(self._failed[which], way="cached", seconds=0.0)
        self._running = {key: shared for key, shared in self._running.items() if shared.open}
        shared = self._running.get(which)
        if shared is None:
            shared = self._running[which] = Shared(partial(self._build, order, which))
        return await shared.wait(early)

    async def code(self, order: Order, kind: Kind) -> Code:
        """The PTX or machine code of an order's kernels."""
        return await kernel_code(order, kind, self.toolchain, self._cache, self._slots)

    async def close(self) -> None:
        """End all builds; no compiler runs when this returns."""
        await asyncio.gather(*(shared.end() for shared in self._running.values()))
        await self._maker.close()

    async def _build(self, order: Order, which: tuple[str, bool], early: Early) -> Result:
        started = time.perf_counter()
        result = self._cached(order) or self._impossible(order) or await self._race(order, early)
        if result.final:
            self._failed[which] = result
        if len(self._failed) > _KEPT_FAILURES:
            self._failed.pop(next(iter(self._failed)))
        return dataclasses.replace(result, seconds=time.perf_counter() - started)

    def _impossible(self, order: Order) -> Result | None:
        reason = obstacle(order.request, self.toolchain)
        error = Finding(severity="error", message=reason)
        name = order.request.name
        failed = Result(name=name, ok=False, way="none", reason=reason, findings=(error,), no_tools=True)
        return failed if reason else None

    def _cached(self, order: Order) -> Result | None:
        """An earlier library; one of the quick build only where that one may be used."""
        kinds: tuple[MadeBy, ...] = ("full",) if self._full_only(order) else ("slim", "full")
        if not self.toolchain.links(order.request) and not self._full_only(order):
            kinds = ("slim",)
        return next(filter(None, (self._maker.find(order, made_by) for made_by in kinds)), None)

    def _full_only(self, order: Order) -> bool:
        if order.unfit:
            self._unfit.add(order.request.digest)
        return order.full or order.unfit or order.request.digest in self._unfit

    async def _race(self, order: Order, early: Early) -> Result:
        """The quick build if it works, the full one otherwise: the quick one never has the last word on an error."""
        why = "" if self._full_only(order) else fast.obstacle(order.request, self.toolchain)
        if self._full_only(order) or why:
            return dataclasses.replace(await self._full(order), slim_note=why)

        def goes_on(slim: Result) -> bool:
            early(slim.findings)
            return not slim.machine

        behind = partial(self._full, order, behind=self._together)
        slim, full = await first_good(self._maker.slim(order), behind, together=self._together, goes_on=goes_on)
        return slim if full is None else self._decided(order, slim, full)

    async def _full(self, order: Order, *, behind: bool = False) -> Result:
        return self._maker.find(order, "full") or await self._maker.full(order, behind=behind)

    def _decided(self, order: Order, slim: Result, full: Result) -> Result:
        """The full build's word counts, unless a CPU build of torch lacks a header that it would have needed, or it
        could not link what the quick build's linker refused."""
        if not full.ok and not self.toolchain.torch_cuda and _MISSING in full.reason:
            return slim
        if full.ok and slim.at_link and not self.toolchain.links(order.request):
            return slim
        return dataclasses.replace(full, slim_note=slim.reason)
