"""What the machine's GPUs and the software for them mean for pkwb."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from workbench.checks.findings import Finding, note, ok, problem
from workbench.checks.look import GpuLook
from workbench.checks.probe import Probe
from workbench.topology.chosen import chosen_names
from workbench.topology.gpu_state import GpuState

_GB = 1e9
_LEAST_FREE_GB = 5.0
"""Reference, candidate and the set that stands by hold about 1.5 GB each on a GPU."""


def gpu_findings(look: GpuLook) -> Iterator[Finding]:
    """Everything about the GPUs themselves."""
    return (finding for check in _CHECKS for finding in check(look))


def _driver(look: GpuLook) -> Iterator[Finding]:
    value = f"{look.machine.driver}, runs CUDA up to {look.machine.cuda}"
    built = look.probe.cuda if look.probe else ""
    if not built:
        yield ok("driver", value, "the ranks' torch must be built for no newer CUDA")
    elif _major(built) > _major(look.machine.cuda):
        remedy = f"update the driver, or install a torch that is built for CUDA {look.machine.cuda} or older"
        yield problem("driver", value, f"too old for the ranks' torch (CUDA {built}): {remedy}")
    else:
        yield ok("driver", value, f"new enough for the ranks' torch (CUDA {built})")


def _torch(look: GpuLook) -> Iterator[Finding]:
    if look.probe is not None:
        yield from torch_findings(look.probe, len(look.machine.gpus))


def torch_findings(probe: Probe, count: int) -> Iterator[Finding]:
    """What the ranks' torch makes of ``count`` GPUs."""
    if not probe.cuda:
        remedy = "ranks run on the CPU; for GPUs set ranks.python to an interpreter with a CUDA build of torch"
        yield note("cuda", "the ranks' torch is a CPU build", remedy)
        return
    yield ok("cuda", probe.cuda, "what the ranks' torch was built for")
    if probe.nccl:
        yield ok("nccl", probe.nccl, "references and GPU ranks talk through it")
    else:
        yield problem("nccl", "not in this torch", "GPU ranks cannot talk to each other; install another torch build")
    if probe.gpus < count:
        remedy = "CUDA does not start there: torch.cuda.init() under that interpreter says why"
        yield problem("cuda", f"torch sees {probe.gpus} of {count} GPUs", remedy)


def _nvcc(look: GpuLook) -> Iterator[Finding]:
    if not look.nvcc:
        yield note("nvcc", "not found", "CUDA kernels cannot be compiled: install the CUDA toolkit, or set CUDA_HOME")
        return
    value, built = f"{look.nvcc_version or 'unknown version'}, {look.nvcc}", look.probe.cuda if look.probe else ""
    if built and look.nvcc_version and _major(built) != _major(look.nvcc_version):
        meaning = f"torch builds extensions with CUDA {_major(built)} only: set CUDA_HOME to such a toolkit"
        yield note("nvcc", value, meaning)
    else:
        yield ok("nvcc", value, "compiles CUDA kernels")


def _gpus(look: GpuLook) -> Iterator[Finding]:
    gpus = look.machine.gpus
    kinds = Counter((gpu.name, f"{gpu.memory_bytes / _GB:.0f} GB") for gpu in gpus)
    value = ", ".join(f"{count} × {name}, {memory}" for (name, memory), count in kinds.items())
    if look.probe is None or not look.probe.cuda:
        yield note("gpus", value, "not used as long as the ranks' interpreter has no torch that is built for CUDA")
    elif any(gpu.split for gpu in gpus) and look.world > 1:
        meaning = "in parts (MIG), of which CUDA gives a process one: use --ranks 1, or ask for whole GPUs"
        yield note("gpus", value, meaning)
    elif len(gpus) >= look.world:
        yield ok("gpus", value, f"with --device auto each of {look.world} ranks takes one, with NCCL")
    elif look.share_gpus:
        yield note("gpus", value, f"{look.world} ranks share them: results are judged, nothing is timed")
    else:
        remedy = f"use --ranks {len(gpus)}, or --share-gpus (results are judged, nothing is timed)"
        yield note("gpus", value, f"{look.world} ranks need {look.world}: {remedy}, or they run on the CPU")
    for gpu in gpus:
        yield from _one_gpu(gpu)


def _places(look: GpuLook) -> Iterator[Finding]:
    """Which GPU each rank takes, and by whose word."""
    chosen = chosen_names()
    gpus = look.machine.gpus
    ranks = range(look.world if look.share_gpus else min(look.world, len(gpus)))
    places = [(rank, gpus[rank % len(gpus)]) for rank in ranks]
    value = ", ".join(f"rank {rank} on gpu {gpu.label} ({gpu.bus})" for rank, gpu in places)
    meaning = "GPUs are numbered by their place on the PCI bus; CUDA_VISIBLE_DEVICES chooses others"
    if chosen is not None:
        meaning = f"as CUDA_VISIBLE_DEVICES={','.join(chosen)} says; numbers go by the place on the PCI bus"
    yield ok("ranks' gpus", value, meaning)


def _one_gpu(gpu: GpuState) -> Iterator[Finding]:
    name = f"gpu {gpu.label}"
    if gpu.exclusive:
        meaning = "several processes of pkwb share a GPU: ask whoever runs the machine for compute mode default"
        yield problem(name, "lets only one process in, or none", meaning)
    if gpu.split:
        meaning = "instances cannot reach each other's memory: more than one rank needs whole GPUs"
        yield note(name, "split into instances (MIG)", meaning)
    if gpu.free_bytes < _LEAST_FREE_GB * _GB:
        value = f"{gpu.free_bytes / _GB:.1f} of {gpu.memory_bytes / _GB:.0f} GB free"
        yield note(
            name, value, f"up to three ranks share a GPU and need about {_LEAST_FREE_GB:g} GB beside their tensors"
        )


def _processes(look: GpuLook) -> Iterator[Finding]:
    users = [
        f"gpu {gpu.label}: {', '.join(who.words for who in gpu.holders)}" for gpu in look.machine.gpus if gpu.holders
    ]
    hidden = [gpu.label for gpu in look.machine.gpus if gpu.holders is None]
    if hidden:
        meaning = "whether others use them is not known: a timing with others there is not flagged"
        yield note("gpu processes", f"not told by this driver on gpu {', '.join(hidden)}", meaning)
    if users:
        meaning = "they take memory, and times are noisy while they work; pkwb never ends what it did not start"
        yield note("gpu processes", "; ".join(users), meaning)
    elif not hidden:
        yield ok("gpu processes", "none", "nobody else uses the GPUs, as far as can be seen from here")


def _clocks(look: GpuLook) -> Iterator[Finding]:
    gpus = look.machine.gpus
    blind = [gpu.label for gpu in gpus if gpu.throttle is None or not gpu.throttle.spent_ns]
    causes = ", ".join(dict.fromkeys(cause for gpu in gpus if gpu.throttle for cause in gpu.throttle.spent_ns))
    if not blind:
        yield ok("throttling", f"counted by cause: {causes}", "a timing during which clocks were held down says so")
        return
    told = all(gpu.throttle is not None for gpu in gpus)
    seen = "only what holds them down when a timing ends is noticed" if told else "nothing is noticed"
    meaning = f"of clocks that power or heat hold down during a timing {seen}: look at the spread of the times"
    yield note("throttling", f"not counted by this driver on gpu {', '.join(blind)}", meaning)


def _major(version: str) -> int:
    return int(version.partition(".")[0])


_CHECKS: tuple[Callable[[GpuLook], Iterator[Finding]], ...] = (
    _driver,
    _torch,
    _nvcc,
    _gpus,
    _places,
    _processes,
    _clocks,
)
