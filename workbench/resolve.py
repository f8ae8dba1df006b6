"""From a problem's name and settings to the target of a sitting."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from problems.binding import bind, shape_of
from problems.loader import find_problem
from problems.model import Binding, Problem
from problems.starter import starter_text, working_file
from problems.tolerance import ITEMSIZES
from workbench.config import Settings
from workbench.devices import place_ranks
from workbench.errors import UsageError
from workbench.target import SharedGpus, Target
from workbench.topology.model import Topology

MOST_CPU_RANKS = 8
_MOST_BYTES = 8
"""An element of an argument whose dtype is not the run's takes at most this."""
_COPIES = 4
"""Copies of an argument on its way: drawn by the judge, in shared memory, with the baseline, with the candidate."""


def resolve_target(
    name: str, settings: Settings, file: Path | None = None, root: Path | None = None, any_dtype: bool = False
) -> Target:
    """The target that a problem's name means under these settings.

    ``file`` is the working file; without it, it is the usual one below ``root`` (the current folder, or the checkout
    that the problem comes from). With
    ``any_dtype`` a dtype that the problem does not take gives way to its first. Raises UsageError and ProblemError.
    """
    problem = find_problem(name, settings.problems.paths, settings.problems.pkb)
    usual = working_file(problem, settings.run.backend, root or Path(settings.problems.pkb).expanduser())
    device, shared = place_ranks(settings.ranks, settings.ranks.world)
    if device == "cpu" and settings.ranks.world > MOST_CPU_RANKS:
        raise UsageError(f"{settings.ranks.world} ranks are too many for CPU ranks: give --ranks 1 to {MOST_CPU_RANKS}")
    binding = resolve_binding(problem, settings, any_dtype)
    _check_memory(binding)
    path = Path(os.path.abspath(usual if file is None else file))
    what_if = what_if_topology(settings, binding.world)
    return Target(
        problem=problem,
        binding=binding,
        backend=settings.run.backend,
        device=device,
        path=path,
        what_if=what_if,
        shared=shared_gpus(shared) if shared else None,
    )


def what_if_topology(settings: Settings, world: int) -> Topology | None:
    """The system that the settings name, with ranks placed on it; None where they name none. Raises TopologyError."""
    if not settings.topology.name:
        return None
    from workbench.topology.catalogue import find_system  # few sittings need the catalogue
    from workbench.topology.placing import place

    return place(find_system(settings.topology.name, settings.topology.paths), world)


def shared_gpus(count: int) -> SharedGpus:
    """The GPUs that ranks share, with their name where NVML tells it."""
    from workbench.topology.gpus import detect_gpus  # few sittings need it

    try:
        name = detect_gpus(count).name
    except UsageError:
        name = f"{count} GPU{'s' if count != 1 else ''}"
    return SharedGpus(count, name)


def resolve_binding(problem: Problem, settings: Settings, any_dtype: bool) -> Binding:
    """A problem at the size, ranks and dtype of the settings; ``any_dtype`` as in :func:`resolve_target`."""
    return bind(problem, settings.run.size, settings.ranks.world, _dtype(problem, settings, any_dtype))


@dataclass(frozen=True)
class Opener:
    """How problems become targets in one sitting: the settings, the folder of the working files, freedom of dtype."""

    settings: Settings
    root: Path | None = None
    any_dtype: bool = True

    def target(self, name: str, file: Path | None = None) -> Target:
        """As :func:`resolve_target`, which may block."""
        return resolve_target(name, self.settings, file, self.root, self.any_dtype)


def _check_memory(binding: Binding) -> None:
    """UsageError when the arguments of all ranks, as often as they are held, cannot fit into this machine's memory."""
    tensors = [item for item in binding.problem.inputs if item.kind == "tensor"]
    needed = _COPIES * sum(
        math.prod(shape_of(binding, item, rank))
        * ITEMSIZES.get(binding.dtype if item.dtype == "dtype" else item.dtype, _MOST_BYTES)
        for rank in range(binding.world)
        for item in tensors
    )
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory:
        raise UsageError(
            f"size {binding.size} does not fit: the arguments of {binding.world} ranks need about {needed / 1e9:.3g} GB"
            f" and this machine has {memory / 1e9:.3g} GB; choose a smaller --size or fewer --ranks"
        )


def ensure_working_file(target: Target) -> bool:
    """Create the working file from the starter where there is none; returns whether it did. UsageError if it cannot."""
    if os.path.lexists(target.path):
        return False
    text = starter_text(target.problem, target.backend)
    try:
        target.path.parent.mkdir(parents=True, exist_ok=True)
        _create(target.path, text)
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(
            f"{target.path} cannot be created: {error.strerror}; choose another place with --root or --file"
        ) from None
    return True


def _create(path: Path, text: str) -> None:
    # Mode "x": a file that another program makes in this moment is never overwritten.
    with open(path, "x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            path.unlink()
            raise


def _dtype(problem: Problem, settings: Settings, any_dtype: bool) -> str:
    dtype = settings.run.dtype
    return problem.dtypes[0] if any_dtype and dtype not in problem.dtypes else dtype
