"""Run variants on forked gloo ranks and say how far off each is: ``python -m tests.problems.ranks WORLD FOLDER SIZE``.

Arguments and comparison are the judge's own. Every rank writes ``FOLDER/<rank>.json``: ``Found`` by problem and dtype.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import io
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.flop_counter import FlopCounterMode

from problems.binding import bind, judge_job
from problems.loader import catalogue, load_problem
from problems.model import Problem
from tests.collectives import COMMON, COUNTING
from tests.variants import HONEST, NAMES, case_of, variant_source
from workbench.ranks.compare import EXACT, Rule, compare
from workbench.ranks.draws import InputSource
from workbench.ranks.tree import copied, leaves, plain, rebuilt

DTYPES = ("bfloat16", "float32")
_SEED = "5eed" * 8
_CPU = torch.device("cpu")


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of every variant: a judged trial at one input scale, or a stock one."""

    number: int
    trial: int
    stock: bool
    scale: float


@dataclasses.dataclass(frozen=True)
class Found:
    """What one rank found out about one problem in one dtype."""

    variants: Mapping[str, list[float]]
    """Error over tolerance of each variant's judged calls; infinite for an error or another form."""
    stock: Mapping[str, float]
    """The same of the honest variants with the published inputs."""
    changed: list[str]
    """Variants that changed an argument that must stay."""
    oracle: list[float]
    """The reference's own error over tolerance, against the result computed in one process."""
    moved: float
    """Bytes that the reference's collectives moved: the larger of sent and received."""
    collectives: list[str]
    flops: float
    """Of products and convolutions alone."""
    touched: float
    """Bytes of all arguments and results."""
    seconds: float
    """The second call of the reference."""


Solution = Callable[..., Any]


def load(source: str) -> dict[str, Any]:
    """The names that a candidate's text defines."""
    names: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "candidate.py", "exec"), names)
    return names


class Measure:
    """One problem in one dtype on this rank."""

    def __init__(self, problem: Problem, dtype: str, rank: int, world: int, size: str) -> None:
        binding = bind(problem, size, world, dtype)
        jobs = [judge_job(binding, other) for other in range(world)]
        self.problem, self.rank, self.world, self.job = problem, rank, world, jobs[rank]
        self.sources = [InputSource(job, _SEED, other) for other, job in enumerate(jobs)]
        self.rules = [Rule.of(output) for output in self.job["outputs"]]
        self.baseline = load(problem.baseline_source())
        scales = self.job["scales"]
        self.calls = [Call(0, 0, False, scales[0]), Call(1, 1, False, scales[-1])]
        self.stock_call = Call(2, 1, True, 1.0)

    def arguments(self, call: Call, rank: int | None = None) -> list[Any]:
        """Fresh arguments of one rank; groups are joined only for this rank's own."""
        drawn = self.sources[self.rank if rank is None else rank].draw(call.number, call.trial, call.stock, call.scale)
        if rank is not None:
            return drawn
        return [rebuilt(kind, value, _CPU) for kind, value in map(plain, drawn)]

    def right(self, call: Call) -> tuple[Any, list[list[torch.Tensor]], Any]:
        """The reference's result, its arguments afterwards, and what else is right."""
        given = self.arguments(call)
        result = copied(self.baseline["solution"](*given))
        others = self.baseline["alternatives"](*given) if self.job["alternatives"] else None
        return result, [[leaf.clone() for leaf in leaves(value)] for value in given], others

    def error(self, solution: Solution, call: Call, right: tuple[Any, Any, Any]) -> tuple[float, bool]:
        """Error over tolerance of one call, and whether it changed an argument that must stay."""
        wanted, after, others = right
        given = self.arguments(call)
        before = [[leaf.clone() for leaf in leaves(value)] for value in given]
        with contextlib.redirect_stderr(io.StringIO()):
            got = copied(solution(*given))
        ratio = self.ratio(wanted, got, others)
        changed = False
        for place, spec in enumerate(self.job["inputs"]):
            now = tuple(leaves(given[place]))
            if spec["mutates"] == "must":
                ratio = max(ratio, compare(tuple(after[place]), now, [Rule.of(self.job["rule"])]).ratio)
            if spec["mutates"] == "none":
                changed |= not compare(tuple(before[place]), now, [EXACT]).passes
        return ratio, changed

    def ratio(self, wanted: Any, got: Any, others: Any = None) -> float:
        """Error over tolerance; infinite for another form."""
        return compare(wanted, got, self.rules, others).ratio if form(wanted) == form(got) else math.inf

    def oracle(self, call: Call, result: Any, others: Any) -> float:
        """The reference's error against the result from all ranks' arguments in one process."""
        everybody = [self.arguments(call, rank) for rank in range(self.world)]
        wanted = case_of(self.problem.number).expected(everybody, self.rank)
        return self._oracle_ratio(wanted, result, others)

    def _oracle_ratio(self, wanted: Any, result: Any, others: Any) -> float:
        if len(self.rules) == 1:
            wanted, result, others = (wanted,), (result,), others and (others[0],)
        result, wanted = (tuple(v.values()) if isinstance(v, dict) else tuple(v) for v in (result, wanted))
        assert len(result) == len(wanted) == len(self.rules)
        worst = 0.0
        for place, rule in enumerate(self.rules):
            if wanted[place] is None:
                continue
            one, other = _alike(wanted[place], result[place])
            if form(one) != form(other):
                return math.inf
            # A lookup needs the values before it; other rules are judged alone.
            if rule.compare == "lookup":
                pair = [self.rules[place - 1], rule]
                extra = (None, others[place]) if others else None
                values = result[place - 1]
                worst = max(worst, compare((values, one), (values, other), pair, extra).ratio)
            else:
                worst = max(worst, compare(one, other, [rule], others and [others[place]]).ratio)
        return worst

    def found(self, names: Sequence[str]) -> Found:
        """Everything about the problem."""
        rights = [self.right(call) for call in self.calls]
        oracle = [self.oracle(call, right[0], right[2]) for call, right in zip(self.calls, rights)]
        variants, changed, stock = {}, [], {}
        right = self.right(self.stock_call)
        for name in names:
            source = variant_source(self.problem, name, self.world)
            if source is None:
                continue
            variants[name], writes = self.variant(load(source)["solution"], rights)
            changed += [name] if writes else []
            if name in HONEST:
                stock[name] = self.error(load(source)["solution"], self.stock_call, right)[0]
        return Found(variants, stock, changed, oracle, *self.counts())

    def variant(self, solution: Solution, rights: Sequence[tuple[Any, Any, Any]]) -> tuple[list[float], bool]:
        """Errors of the judged calls; an exception counts as infinitely wrong."""
        try:
            found = [self.error(solution, call, right) for call, right in zip(self.calls, rights)]
        except Exception as error:
            print(f"rank {self.rank}: {self.problem.stem}: {type(error).__name__}: {error}"[:300], file=sys.stderr)
            return [math.inf] * len(self.calls), False
        return [ratio for ratio, _ in found], any(writes for _, writes in found)

    def counts(self) -> tuple[float, list[str], float, float, float]:
        """Bytes moved, collectives, flops, bytes touched and seconds of the reference."""
        text = "\n\n".join([self.problem.reference_source(), "_real = dist", COMMON, COUNTING])
        names = load(text)
        given = self.arguments(self.calls[0])
        touched = sum(leaf.nbytes for value in given for leaf in leaves(value))
        with FlopCounterMode(display=False) as counter:
            result = names["solution"](*given)
        touched += sum(leaf.nbytes for leaf in leaves(result))
        given = self.arguments(self.calls[1])
        dist.barrier()
        started = time.perf_counter()
        self.baseline["solution"](*given)
        seconds = time.perf_counter() - started
        counted = names["dist"]
        moved = max(counted.out, counted.into)
        return moved, list(dict.fromkeys(counted.calls)), counter.get_total_flops(), touched, seconds


def form(value: Any) -> Any:
    """Structure, dtypes and shapes."""
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape)
    if isinstance(value, dict):
        return {key: form(item) for key, item in value.items()}
    return [form(item) for item in value] if isinstance(value, (tuple, list)) else type(value)


def _alike(wanted: Any, result: Any) -> tuple[Any, Any]:
    """Both in float64 where values are computed, so that the forms are the same."""
    if isinstance(wanted, torch.Tensor) and isinstance(result, torch.Tensor):
        if result.is_complex():
            return wanted.to(torch.complex128), result.to(torch.complex128)
        if result.is_floating_point():
            return wanted.double(), result.double()
        return wanted, result
    if isinstance(wanted, (tuple, list)) and isinstance(result, (tuple, list)):
        pairs = [_alike(*pair) for pair in zip(wanted, result, strict=True)]
        return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)
    return wanted, result


def run_rank(rank: int, world: int, folder: Path, size: str, numbers: set[int]) -> None:
    """Join the group and measure all problems that run on so many ranks."""
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    found: dict[str, Any] = {}
    for entry in catalogue():
        if numbers and entry.number not in numbers:
            continue
        problem = load_problem(entry.folder)
        found[entry.stem] = {
            dtype: dataclasses.asdict(Measure(problem, dtype, rank, world, size).found(NAMES)) for dtype in DTYPES
        }
        gc.collect()
    (folder / f"{rank}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def main(world: int, folder: Path, size: str, numbers: set[int]) -> int:
    """Fork the ranks, wait for them; 0 when all of them ended well."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    children = []
    for rank in range(world):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run_rank(rank, world, folder, size, numbers)
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            os._exit(code)
        children.append(child)
    return _first_failure(children)


def _first_failure(children: list[int]) -> int:
    """0, or the code of the first child that failed; the others are ended, as they wait for it."""
    left = set(children)
    while left:
        child, status = os.wait()
        left.discard(child)
        code = os.waitstatus_to_exitcode(status)
        if code:
            for other in left:
                os.kill(other, 9)
                os.waitpid(other, 0)
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], set(map(int, sys.argv[4:]))))
