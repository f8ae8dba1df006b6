"""Where the time of a profiled call went, from spans as profilers tell them."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.events import Profile
from workbench.judge.profiles import MOST_RAN, make_profile

MS = 1_000_000
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def span(name: str, kind: str, begin: float, end: float) -> tuple[str, str, int, int]:
    """A span by ms."""
    return name, kind, round(begin * MS), round(end * MS)


def stages(profile: Profile, rank: int = 0) -> tuple[float, ...]:
    """Whole, compute, communication, overlap and gap of a rank, in ms."""
    one = profile.ranks[rank]
    return one.whole_ms, one.compute_ms, one.communication_ms, one.overlap_ms, one.gap_ms


def test_stages_of_a_gpu() -> None:
    """Kernels, what a collective hides under them, and idle time between the first and the last add up; the time of
    the host does not count."""
    spans = [
        span("aten::mm", "host", 0, 9),
        span("c10d::allreduce_", "message", 0.5, 0.6),
        span("gemm_kernel(float*)", "device", 1, 4),
        span(NCCL, "device", 3, 6),
        span("Memcpy DtoD (Device -> Device)", "device", 7, 8),
    ]
    profile = make_profile([spans], "cuda")
    assert stages(profile) == pytest.approx((7, 4, 3, 1, 1))
    ran = [(one.kind, one.name, one.calls, one.ms) for one in profile.ran]
    assert ran == [
        ("collective", "all_reduce", 1, pytest.approx(0.1)),
        ("kernel", "gemm_kernel", 1, 3),
        ("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1, 3),
        ("kernel", "Memcpy DtoD (Device -> Device)", 1, 1),
    ]


@pytest.mark.parametrize(
    "name",
    [
        NCCL,
        "Memcpy PtoP (Device -> Device)",
        "void c10d::symmetric_memory::barrier_kernel(unsigned int**)",
        "nvshmemi_transfer",
    ],
)
def test_kernels_of_libraries_that_move_data(name: str) -> None:
    """Kernels and copies between devices that libraries name as such are communication."""
    assert stages(make_profile([[span(name, "device", 0, 2)]], "cuda")) == (2, 0, 2, 0, 0)


def test_kernels_side_by_side_count_once() -> None:
    """Two kernels at the same time are one time of compute, not two."""
    spans = [span("a", "device", 0, 4), span("b", "device", 1, 3), span("c", "device", 3, 5)]
    assert stages(make_profile([spans], "cuda")) == (5, 5, 0, 0, 0)


def test_stages_of_processors() -> None:
    """On processors the call begins at 0, and what no operator does is told as neither."""
    spans = [
        span("c10d::allreduce_", "message", 1, 2),
        span("gloo:all_reduce", "message", 1.5, 5),
        span("aten::mm", "host", 4, 8),
    ]
    assert stages(make_profile([spans], "cpu")) == pytest.approx((8, 4, 4, 1, 1))


def test_each_rank_has_its_own() -> None:
    """A rank that waits in a collective is told apart from the one that it waits for."""
    slow = [span("a", "device", 0, 4), span(NCCL, "device", 4, 5)]
    fast = [span("a", "device", 0, 1), span(NCCL, "device", 1, 5)]
    profile = make_profile([slow, fast], "cuda")
    assert [one.rank for one in profile.ranks] == [0, 1]
    assert (stages(profile, 0)[2], stages(profile, 1)[2]) == (1, 4)


def test_without_work_on_the_gpu() -> None:
    """A profiler that may not look at the GPU gives no stages made from the host's time, and says so."""
    profile = make_profile([[span("aten::mm", "host", 0, 1)]], "cuda")
    assert (profile.ranks, profile.note) == ((), "the profiler saw no work on the GPUs")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_nothing_ran(device: str) -> None:
    """A call that does nothing is no error."""
    profile = make_profile([[], []], device)
    assert profile.ran == ()
    assert all(stages(profile, rank) == (0, 0, 0, 0, 0) for rank in range(len(profile.ranks)))


def test_what_ran_is_bounded_and_collectives_stay() -> None:
    """Of many kernels those with most time are told, and no collective is lost among them."""
    kernels: list[Any] = [span(f"kernel_{number}", "device", number, number + 1 + number / 100) for number in range(50)]
    profile = make_profile([[*kernels, span("c10d::_reduce_scatter_base_", "message", 0, 0)]], "cuda")
    assert len(profile.ran) == MOST_RAN
    assert [one.name for one in profile.ran[:2]] == ["reduce_scatter_tensor", "kernel_49"]


@pytest.mark.parametrize(
    ("operator", "name"),
    [
        ("c10d::_allgather_base_", "all_gather_into_tensor"),
        ("c10d::alltoall_base_", "all_to_all_single"),
        ("c10d::send", "send"),
        ("c10d::recv_", "recv"),
        ("c10d::barrier", "barrier"),
    ],
)
def test_collectives_by_their_names(operator: str, name: str) -> None:
    """Collectives and messages are named as torch.distributed names them."""
    assert [one.name for one in make_profile([[span(operator, "message", 0, 1)]], "cpu").ran] == [name]


def test_message_between_other_ranks() -> None:
    """A message in which rank 0 has no part is told, too, once; what rank 0 ran is told as before."""
    own = [span("c10d::allreduce_", "message", 0, 1), span("aten::add", "host", 1, 2)]
    other = [
        span("c10d::send", "message", 0, 1),
        span("c10d::allreduce_", "message", 1, 2),
        span("aten::mm", "host", 2, 3),
    ]
    ran = make_profile([own, other, other], "cpu").ran
    assert [(one.name, one.kind) for one in ran] == [
        ("send", "collective"),
        ("all_reduce", "collective"),
        ("aten::add", "operator"),
    ]
    assert make_profile([], "cpu").ran == ()
