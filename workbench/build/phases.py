"""One nvcc command as the programs that it would run one after the other, the host's and the device's half at once.

nvcc says by ``--dryrun`` what it would run. Both halves are a preprocessor and a front end over the same headers, which
is most of the time. They share an identifier of the module that nvcc has the first of them make up; here it is given.
Where the list is not the one that is known from CUDA 12 and 13, nvcc runs by itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.build.host_objects import HostObjects
from workbench.build.jobs import Done, Slots
from workbench.build.model import CUDA_UNIT, Command

_PLAIN = re.compile(r"[\w./=,:+@%\-]*")
"""Words that come back from nvcc's list as they were given."""
_VARIABLE = re.compile(r"([A-Z_]+)=(.*)")
_NEEDED = ("PATH", "LD_LIBRARY_PATH")
_LIST_S = 20.0
_ROOM = 4


@dataclass(frozen=True)
class Phases:
    """The programs of one compilation: two halves that need nothing of each other, and the last, which needs both."""

    host: tuple[Command, ...]
    device: tuple[Command, ...]
    last: Command


async def compile_cuda(
    command: Command, place: Path, slots: Slots, limit: float, objects: HostObjects | None = None
) -> list[Done]:
    """Run an nvcc command that makes an object file, its two halves at the same time where that is possible.

    With little room they would only slow each other down, and an error in the host's half would be told later.
    ``objects``: where the last step may find its work done.
    """
    phases = await _phases_of(command, place) if slots.count >= _ROOM else None
    if phases is None:
        return [await slots.run(command, place, limit)]
    halves = [asyncio.ensure_future(_chain(half, place, slots, limit)) for half in (phases.host, phases.device)]
    try:
        done: list[Done] = []
        for half in asyncio.as_completed(halves):
            jobs = await half
            if not all(job.ok for job in jobs):  # what one front end refuses the other would only say again
                return jobs
            done += jobs
        if objects is not None:
            return [*done, await objects.compile(phases.last, place, slots, limit)]
        return [*done, await slots.run(phases.last, place, limit)]
    finally:
        for half in halves:
            half.cancel()
        await asyncio.gather(*halves, return_exceptions=True)


async def _chain(commands: Sequence[Command], place: Path, slots: Slots, limit: float) -> list[Done]:
    done: list[Done] = []
    for command in commands:
        done.append(await slots.run(command, place, limit))
        if not done[-1].ok:
            break
    return done


async def _phases_of(command: Command, place: Path) -> Phases | None:
    """What nvcc would run; None where it is not known how to share that out."""
    words = _without_dependencies(command.argv)
    if not all(_PLAIN.fullmatch(word) for word in words):
        return None
    ask = Command(argv=(words[0], "--dryrun", "--keep", "--keep-dir", ".", *words[1:]), output="")
    told = await Slots(1).run(ask, place, _LIST_S)
    phases = read_phases(told.output) if told.ok else None
    if phases is not None:
        (place / "cuda.module_id").write_text(_module_id(words), encoding="ascii")
    return phases


def read_phases(listed: str) -> Phases | None:
    """The phases in nvcc's list; None where it is another list than the known one."""
    lines = [line[3:] for line in listed.splitlines() if line.startswith("#$ ")]
    variables = {match[1]: match[2] for line in lines if (match := _VARIABLE.fullmatch(line))}
    environment = tuple((name, variables[name]) for name in _NEEDED if name in variables)
    commands = [line for line in lines if not _VARIABLE.fullmatch(line) and not line.startswith("rm ")]
    try:
        found = dict(_named(shlex.split(line), variables) for line in commands)
    except (ValueError, LookupError):
        return None
    if len(commands) != len(_ORDER) or set(found) != set(_ORDER):
        return None
    made = {name: _command(name, argv, environment) for name, argv in found.items()}
    return Phases(
        host=(made["host"], made["cudafe++"]),
        device=tuple(made[name] for name in ("device", "cicc", "ptxas", "fatbinary")),
        last=made["object"],
    )


_ORDER = ("host", "cudafe++", "device", "cicc", "ptxas", "fatbinary", "object")
_OUTPUTS = {".cpp4.ii": "host", ".cpp1.ii": "device", ".o": "object"}
"""The phases that the C++ compiler runs, by what each of them makes."""


def _named(argv: list[str], variables: dict[str, str]) -> tuple[str, list[str]]:
    """A program's phase and its words."""
    program = argv[0].replace("$CICC_PATH", variables.get("CICC_PATH", ""))
    name = Path(program).name
    if name not in _ORDER:
        output = argv[argv.index("-o") + 1]
        name = next(phase for ending, phase in _OUTPUTS.items() if output.endswith(ending))
    return name, [program, *argv[1:]]


def _command(name: str, argv: list[str], environment: tuple[tuple[str, str], ...]) -> Command:
    words = [word for word in argv if word != "--gen_module_id_file"]
    if name == "host":
        words += ["-MMD", "-MF", f"{CUDA_UNIT}.d"]
    output = words[words.index("-o") + 1] if "-o" in words else ""
    return Command(argv=tuple(words), output=output, environment=environment)


def _without_dependencies(argv: Sequence[str]) -> list[str]:
    words = [word for word in argv if word != "-MMD"]
    if "-MF" in words:
        del words[words.index("-MF") : words.index("-MF") + 2]
    return words


def _module_id(words: Sequence[str]) -> str:
    """As nvcc makes it up: a digest, the file's name with its length, a name of the file's."""
    digest = hashlib.sha256("\0".join(words).encode()).hexdigest()[:8]
    return f"_{digest}_7_cuda_cu_{digest}"
