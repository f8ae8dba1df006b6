"""The kernels of the skeletons: what each one's text is and how it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from problems.starters import cpp, cuda, parallelkittens, triton

Kind = Literal["sum", "copy", "tile"]
"""``sum``: adds up the ranks' buffers. ``copy``: reads another rank's buffer. ``tile``: this rank's own elements."""
SUMS = frozenset({"all_reduce", "reduce_scatter", "reduce"})
"""Collectives of which the sum is the heart; the others move data."""


@dataclass(frozen=True)
class Kernel:
    """One kernel of one backend."""

    text: str
    """Python text that needs ``functools``, ``Any``, ``torch``, ``dist`` and ``USE_KERNEL``; CUDA in a string."""
    call: str
    """The call that gives back ``{tensor}`` as it is."""
    device: str
    """Python text of the device that it runs on."""


_CALLS: Mapping[Kind, str] = {
    "sum": "_sum_of_ranks({tensor}, dist.get_rank(), dist.get_rank() + 1)",
    "copy": "_from_rank({tensor}, dist.get_rank())",
    "tile": "_scaled({tensor}, 1.0)",
}
_GPU = 'torch.device("cuda", torch.cuda.current_device())'
_BACKENDS = (
    ("cuda", cuda.TEXTS, _GPU),
    ("triton", triton.TEXTS, _GPU),
    ("parallelkittens", parallelkittens.TEXTS, _GPU),
    ("cpp", cpp.TEXTS, '"cpu"'),
)
KERNELS: Mapping[str, Mapping[Kind, Kernel]] = {
    backend: {kind: Kernel(texts[kind], call, device) for kind, call in _CALLS.items()}
    for backend, texts, device in _BACKENDS
}


def kind_of(collectives: tuple[str, ...]) -> Kind:
    """The kind of kernel that is nearest to what a reference calls."""
    if not collectives:
        return "tile"
    return "sum" if collectives[0] in SUMS else "copy"
