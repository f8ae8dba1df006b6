"""A build whose library lacks names is told as one that failed, at the lines that declare them."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

from workbench.build.making import Order
from workbench.build.model import Finding, Result
from workbench.build.service import BuildService
from workbench.build.sharing import Early
from workbench.build.symbols import findings_of, lacking


async def build_complete(service: BuildService, order: Order, early: Early) -> Result:
    """The result of an order. Where its library lacks names it is not ``ok`` and names the library nevertheless.

    Of the quick build's library the full one is asked: its tensors are another type, which other libraries do not know.
    """
    result = await service.build(order, early)
    missing = await _missing(service, order, result)
    if missing and result.made_by == "slim" and service.toolchain.links(order.request):
        early(missing)
        result = await service.build(dataclasses.replace(order, unfit=True), early)
        missing = await _missing(service, order, result)
    if not missing:
        return result
    found = (*missing, *result.findings)
    return dataclasses.replace(result, ok=False, reason=missing[0].message, findings=found)


async def _missing(service: BuildService, order: Order, result: Result) -> tuple[Finding, ...]:
    if not result.library:
        return ()
    library = Path(result.library)
    names = await asyncio.to_thread(lacking, library, order.request, service.toolchain)
    return await findings_of(names, order.request, library.parent) if names else ()
