"""PTX and machine code of the kernels in a source, for people to read."""

from __future__ import annotations

import asyncio

from workbench.build.assembly import Code, Kind
from workbench.build.plan import look
from workbench.flow.building import BuildPlace, own_request
from workbench.target import Source

_NOTHING = "this file builds no CUDA text that is known before it runs"


async def kernel_code(source: Source, place: BuildPlace, kind: Kind) -> Code:
    """The code of all CUDA texts that the source is known to build, one after the other, or why there is none."""
    plan = await asyncio.to_thread(look, source.text, str(source.path))
    requests = [own_request(item.request, source) for item in plan.planned if item.request.cuda]
    codes = [await place.builder.code(request, place.arch, kind, full=place.full) for request in requests]
    texts = [f"// {request.name}\n{code.text}" for request, code in zip(requests, codes) if code.text]
    reasons = [f"{request.name}: {code.reason}" for request, code in zip(requests, codes) if code.reason]
    return Code(text="\n\n".join(texts), reason="; ".join(reasons) if requests else _NOTHING)
