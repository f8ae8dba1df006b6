"""What the device compiler makes of a request's kernels, as text: PTX, or the machine code of one architecture."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workbench.build import fast
from workbench.build.cache import Cache
from workbench.build.flags import checked
from workbench.build.full import full_commands
from workbench.build.jobs import Slots
from workbench.build.making import Order, run_stages, write_units
from workbench.build.model import CUDA_UNIT, Command, Toolchain
from workbench.build.obstacles import cuda_obstacle

Kind = Literal["ptx", "sass"]
_MADE = {"ptx": "kernels.ptx", "sass": "kernels.cubin"}
_FLAGS = {"ptx": "-ptx", "sass": "-cubin"}
_MOST = 4_000_000
"""Characters of the longest text."""


@dataclass(frozen=True, kw_only=True)
class Code:
    """The text, or why there is none."""

    text: str = ""
    reason: str = ""


async def kernel_code(order: Order, kind: Kind, tools: Toolchain, cache: Cache, slots: Slots) -> Code:
    """The code of an order's kernels. Nothing is kept."""
    request, wrong = checked(order.request)
    reason = wrong[0].message if wrong else cuda_obstacle(tools) if request.cuda else "there is no CUDA text"
    disassembler = _disassembler(tools) if kind == "sass" else ()
    if reason or disassembler is None:
        missing = "neither nvdisasm nor cuobjdump was found: install them with the CUDA toolkit"
        return Code(reason=reason or missing)
    with cache.workplace() as place:
        texts = write_units(request, place)
        fast.write_headers(tools, place)
        stages = [[_device_command(order, kind, tools)]]
        if disassembler:
            stages.append([Command(argv=(*disassembler, _MADE[kind]), output="")])
        made = await run_stages(stages, place, slots, order.limit, texts)
        if not made.ok:
            return Code(reason=made.reason)
        text = made.output if disassembler else (place / _MADE[kind]).read_text(errors="replace")
        return Code(text=text[:_MOST])


def _device_command(order: Order, kind: Kind, tools: Toolchain) -> Command:
    """The command that compiles the CUDA unit, made to stop after the device's half."""
    quick = not order.full and not fast.obstacle(order.request, tools)
    commands = fast.slim_commands(order.request, tools, order.arch, "", "") if quick else ()
    first = (commands or full_commands(order.request, tools, order.arch, ""))[0][0]
    words = [word for word in first.argv if word not in ("-c", "-MMD", "-Xptxas=-v", CUDA_UNIT)]
    for flag in ("-o", "-MF"):
        del words[words.index(flag) : words.index(flag) + 2]
    return Command(argv=(*words, _FLAGS[kind], CUDA_UNIT, "-o", _MADE[kind]), output=_MADE[kind])


def _disassembler(tools: Toolchain) -> tuple[str, ...] | None:
    """What shows machine code here, beside nvcc or on PATH; None for nothing."""
    beside = [str(Path(tools.nvcc).parent), f"{tools.cuda_home}/bin"]
    for name, flags in (("nvdisasm", ("-c", "-plr")), ("cuobjdump", ("-sass",))):
        found = shutil.which(name) or next(
            (path for folder in beside if (path := shutil.which(name, path=folder))), None
        )
        if found:
            return (found, *flags)
    return None
