"""What a source moves data with, by a static look and by what ran."""

from __future__ import annotations

import pytest

from problems.loader import catalogue, find_problem
from problems.starter import starter_text
from workbench.errors import UsageError
from workbench.events import Profile, Ran, RanKind
from workbench.llm.labels import check_required, look, requirement_text, with_run

HEAD = "import torch\nimport torch.distributed as dist\n"
SYMMETRIC = """
import torch.distributed._symmetric_memory as symm

SOURCE = r'''
__global__ void pull(float* const* peers) {}
'''

def _buffer():
    buffer = symm.empty(4, device="cuda")
    return symm.rendezvous(buffer, dist.group.WORLD)

def solution(tensor):
    return _buffer()
"""
BOTH = SYMMETRIC.replace("return _buffer()", "dist.all_reduce(tensor)\n    return _buffer()")
BY_NAME = "from torch.distributed import all_gather as g\n"

METHOD = "class A:\n    def go(self, t):\n        dist.all_reduce(t)\ndef solution(t):\n    A().go(t)\n"

SEEN = {
    "collective": ("def solution(t):\n    dist.all_reduce(t)\n", "library", ("collectives",)),
    "imported by name": (f"{BY_NAME}def solution(t):\n    g([], t)\n", "library", ("collectives",)),
    "messages": ("def solution(t):\n    dist.isend(t, 1)\n", "library", ("messages",)),
    "functional": ("def solution(t):\n    torch.ops._c10d_functional.all_reduce(t)\n", "library", ("collectives",)),
    "ready-made": ("def solution(t):\n    torch.ops.symm_mem.one_shot_all_reduce(t)\n", "library", ("symm-ops",)),
    "peers' memory": (SYMMETRIC, "custom", ("symm-mem",)),
    "both": (BOTH, "hybrid", ("collectives", "symm-mem")),
    "NCCL in C++": ("SOURCE = 'ncclAllReduce(a, b)'\ndef solution(t):\n    return t\n", "library", ("collectives",)),
    "copies by CUDA": ("SOURCE = 'cudaMemcpyPeerAsync(a)'\ndef solution(t):\n    return t\n", "custom", ("peer-copy",)),
    "handed on": ("def solution(t):\n    move = dist.all_reduce\n    move(t)\n", "library", ("collectives",)),
    "by getattr": ("def solution(t):\n    getattr(dist, 'isend')(t, 1)\n", "library", ("messages",)),
    "in a method": (METHOD, "library", ("collectives",)),
    "shared files": ("import mmap\ndef solution(t):\n    return mmap.mmap(3, 4)\n", "custom", ("shared-memory",)),
    "IPC in C++": ("SOURCE = 'cudaIpcOpenMemHandle(a)'\ndef solution(t):\n    pass\n", "custom", ("shared-memory",)),
    "only imported": ("import torch.distributed._symmetric_memory as s\ndef solution(t):\n    return t\n", "", ()),
    "no movement": ("def solution(t):\n    return t + 1\n", "", ()),
    "a barrier moves nothing": ("def solution(t):\n    dist.barrier()\n    return t\n", "", ()),
    "left-over that is never called": ("def old(t):\n    dist.all_reduce(t)\ndef solution(t):\n    return t\n", "", ()),
    "broken text": ("def solution(:\n", "", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_label(name: str) -> None:
    """Imports, calls and texts that solution reaches decide the label."""
    text, label, movers = SEEN[name]
    found = look(HEAD + text)
    assert (found.label, found.movers) == (label, movers)


def test_kernels_are_counted() -> None:
    """Kernels in CUDA text and Triton functions are counted where they are reached."""
    triton = "import triton\n@triton.jit\ndef kernel(x):\n    pass\ndef solution(t):\n    kernel[(1,)](t)\n"
    assert look(HEAD + SYMMETRIC).kernels == look(HEAD + triton).kernels == 1
    assert (look(HEAD + SYMMETRIC).names, look(HEAD + triton).names) == (("pull",), ("kernel",))
    assert look(HEAD + triton.replace("kernel[(1,)](t)", "return t")).kernels == 0


@pytest.mark.parametrize(
    "head",
    ["__global__ void k(", "__global__ void __launch_bounds__(256, 2) k(", "template <int N>\n__global__\nvoid k ("],
)
def test_name_of_a_kernel(head: str) -> None:
    """Kernels are known by their names, so that it can be told whether they ran."""
    found = look(f"SOURCE = {head + 'int* x) {}'!r}\ndef solution(t):\n    return t\n")
    assert (found.kernels, found.names) == (1, ("k",))


def test_references_are_of_a_library() -> None:
    """Every reference moves its data by a library, or not at all."""
    labels = {entry.stem: look(find_problem(entry.stem).reference_source()).label for entry in catalogue([], "")}
    assert {stem for stem, label in labels.items() if label not in ("library", "")} == set()
    assert sum(label == "library" for label in labels.values()) > 70


def test_starter_with_a_kernel_is_a_hybrid() -> None:
    """A starter that uses its kernel has both kinds of movement; one whose kernel is switched off has the plain one."""
    text = starter_text(find_problem("1"), "cuda")
    assert look(text).words() == "library: collectives; 1 kernel"
    used = text.replace("USE_KERNEL = False", "USE_KERNEL = True")
    assert look(used).words() == "hybrid: collectives, symm-mem; 1 kernel"
    assert look(text + "\n\ndef other():\n    global USE_KERNEL\n    USE_KERNEL = True\n").label == "hybrid"


@pytest.mark.parametrize(
    ("body", "label"),
    [
        ("    if False:\n        dist.all_reduce(t)\n", ""),
        ("    if not False:\n        dist.all_reduce(t)\n", "library"),
        ("    if 0:\n        pass\n    else:\n        dist.all_reduce(t)\n", "library"),
        ("    return t\n    dist.all_reduce(t)\n", ""),
        ("    if t.numel():\n        return t\n    dist.all_reduce(t)\n", "library"),
        ("    for _ in t:\n        raise E\n        dist.send(t)\n    dist.all_reduce(t)\n", "library"),
    ],
)
def test_code_that_cannot_run(body: str, label: str) -> None:
    """Code behind a constant or a return moves nothing; what may run counts."""
    assert look(f"{HEAD}def solution(t):\n{body}").label == label


def test_breach_is_told_in_words() -> None:
    """What is not as it was asked for is told; it is never an error."""
    found = look(HEAD + SEEN["both"][0])
    assert found.breach("custom") == "custom was asked for, this looks hybrid"
    assert found.breach("symm-mem") == "only symm-mem was asked for, this uses collectives too"
    assert found.breach("hybrid") == found.breach("symm-mem, collectives") == found.breach("") == ""


@pytest.mark.parametrize(
    ("required", "breach"),
    [
        ("cuda", ""),
        ("cuda, symm-mem, collectives", ""),
        (
            "triton",
            "only triton was asked for, this uses CUDA kernels too; Triton kernels were asked for, this has none",
        ),
        ("cuda, triton", "Triton kernels were asked for, this has none"),
        ("cuda, collectives", "only cuda, collectives was asked for, this uses symm-mem too"),
    ],
)
def test_a_backend_can_be_asked_for(required: str, breach: str) -> None:
    """What kernels are written in can be asked for, alone or beside what moves data, and what is missing is told."""
    used = starter_text(find_problem("1"), "cuda").replace("USE_KERNEL = False", "USE_KERNEL = True")
    check_required(required)
    assert look(used).breach(required) == breach
    assert look(used).languages == ("cuda",)


def test_a_model_is_told_which_backend() -> None:
    """The prompt names the language of the kernels, and what may move data where that was asked for too."""
    assert requirement_text("triton") == "The work must be done by Triton kernels, and by no others of your own."
    both = requirement_text("cuda,symm-mem")
    assert both.startswith("Data must move between ranks by nothing but symm-mem")
    assert "CUDA kernels" in both


def test_unknown_requirement() -> None:
    """A wish that names nothing known is refused, with the nearest name."""
    with pytest.raises(UsageError, match="did you mean 'collectives'"):
        check_required("colectives")
    assert "by code of its own" in requirement_text("custom")


def ran(*names: str, kind: RanKind = "collective", note: str = "") -> Profile:
    """A profile of a call in which these ran."""
    return Profile(ran=tuple(Ran(name=name, kind=kind, calls=1, ms=0.1) for name in names), note=note)


@pytest.mark.parametrize(
    ("text", "profile", "label"),
    [
        ("def solution(x):\n    getattr(dist, 'all_' + 'reduce')(x)\n", ran("all_reduce"), "library"),
        ("def solution(x):\n    if False:\n        dist.all_reduce(x)\n", ran(), ""),
        ("def solution(x):\n    symm.rendezvous(x, g)\n", ran("barrier"), "custom"),
        ("def solution(x):\n    symm.rendezvous(x, g)\n", ran("send", "barrier"), "hybrid"),
        ("def solution(x):\n    dist.all_reduce(x)\n", ran("add_kernel", kind="kernel"), ""),
        ("def solution(x):\n    dist.all_reduce(x)\n", ran(note="the profiled call did not end"), "library"),
        ("def solution(x):\n    dist.all_reduce(x)\n", None, "library"),
    ],
    ids=["hidden", "never run", "barrier alone", "message", "kernel alone", "failed profile", "no profile"],
)
def test_what_ran_sets_the_label_right(text: str, profile: Profile | None, label: str) -> None:
    """Collectives count when they ran, and do not when they only stand in the source; a barrier moves no data."""
    head = "import torch.distributed as dist\nimport torch.distributed._symmetric_memory as symm\n"
    assert with_run(look(head + text), profile).label == label


def test_what_ran_and_the_source_do_not_agree() -> None:
    """A collective that the source hides, and one that never ran, are told beside the label and to the model."""
    head = "import torch.distributed as dist\n"
    hidden = with_run(look(f"{head}def solution(x):\n    exec(CODE)\n"), ran("all_reduce"))
    assert (hidden.label, hidden.doubt) == ("library", "collectives ran that the source does not show")
    assert hidden.breach("library") == hidden.doubt
    unused = with_run(
        look(f"{head}def solution(x):\n    if x.numel() < 0:\n        dist.send(x)\n"), ran("add", kind="kernel")
    )
    assert (unused.label, unused.doubt) == ("", "messages of the source did not run")
    assert unused.breach("custom") == f"custom was asked for, this looks like none; {unused.doubt}"
    agreed = with_run(look(f"{head}def solution(x):\n    dist.all_reduce(x)\n"), ran("all_reduce"))
    assert (agreed.doubt, agreed.breach("library")) == ("", "")


@pytest.mark.parametrize(
    ("names", "doubt"),
    [
        (("void pull<float>", "add"), ""),
        (("add",), "no kernel of the source ran on rank 0"),
        (tuple(f"add_{number}" for number in range(12)), ""),
        ((), ""),
    ],
    ids=["ran", "never launched", "more ran than is told", "no GPU"],
)
def test_kernel_that_is_never_launched(names: tuple[str, ...], doubt: str) -> None:
    """A kernel that only stands in the source does not make a version one of its own: that it did not run is told."""
    found = with_run(look(HEAD + SYMMETRIC), ran(*names, kind="kernel"))
    assert (found.label, found.doubt) == ("custom", doubt)


def test_nccl_called_by_an_extension() -> None:
    """NCCL that C++ code calls is seen by its kernel, which no wrapper of torch.distributed is around."""
    kernel = ran("ncclDevKernel_AllReduce_Sum_f32_RING_LL", kind="kernel")
    text = "SOURCE = 'ncclSend(a)'\ndef solution(t):\n    return t\n"
    assert with_run(look(text), kernel).movers == ("messages",)
    hidden = with_run(look("def solution(t):\n    return t\n"), kernel)
    assert (hidden.label, hidden.movers) == ("library", ("collectives",))
    both = Profile(ran=(*ran("barrier").ran, *kernel.ran))
    assert with_run(look(HEAD + SYMMETRIC), both).movers == ("symm-mem",)
