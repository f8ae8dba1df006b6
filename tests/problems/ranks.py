"""Run variants on forked gloo ranks and say how far off each is: ``python -m tests.problems.ranks WORLD FOLDER SIZE``.

Every rank writes ``FOLDER/<rank>.json``: for each problem, dtype and variant, error over tolerance of two calls; under
the name ``formula``, the reference's own error against the same result computed in one process.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from problems.binding import bind, judge_job
from problems.formula import parse
from problems.loader import catalogue, load_problem
from problems.model import Problem
from tests.problems.oracles import expected
from tests.variants import NAMES, variant_source

DTYPES = ("bfloat16", "float32")
_CALLS = ((0, 11, 0), (1, 1234567, -1))
"""Trial, nonce and index into the problem's input scales, of the calls."""


def draw(argument: dict[str, Any], job: dict[str, Any], trial: int, nonce: int, scale: int) -> Any:
    """One argument of one rank, as its judged draw says."""
    how = argument["judged"]
    kind = how["kind"]
    if kind == "value":
        return how["value"]
    symbols = {**job["symbols"], "rank": job["rank"], "trial": trial, "nonce": nonce}
    if argument["kind"] != "tensor":
        return parse(how["formula"]).evaluate(symbols)
    shape, dtype = argument["shape"], getattr(torch, argument["dtype"])
    symbols["i"] = torch.arange(math.prod(shape))
    if kind == "zeros" or how["only_rank"] not in (None, job["rank"]):
        return torch.zeros(shape, dtype=dtype)
    if kind == "formula":
        values = torch.as_tensor(parse(how["formula"]).evaluate(symbols))
    else:
        rank = 0 if how["shared"] else job["rank"]
        name = sum(map(ord, argument["name"]))
        generator = torch.Generator().manual_seed((nonce * 1009 + trial * 101 + name) * 64 + rank)
        values = torch.randn(math.prod(shape), generator=generator) * parse(how["scale"]).evaluate(symbols)
    values = values * job["scales"][scale] if argument["scaled"] else values
    return values.to(dtype).expand(math.prod(shape)).reshape(shape).clone()


def load(source: str) -> Any:
    """The ``solution`` of a candidate's text."""
    names: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "candidate.py", "exec"), names)
    return names["solution"]


def tensors(result: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def ratio(got: Any, wanted: Any, job: dict[str, Any]) -> float:
    """Largest error over its tolerance; infinite for another shape or dtype, or any difference where exact."""
    worst = 0.0
    for one, other in zip(tensors(got), tensors(wanted), strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return math.inf
        if job["compare"] == "exact":
            worst = max(worst, 0.0 if torch.equal(one, other) else math.inf)
            continue
        reference = other.double()
        allowed = job["tolerance"]["rms"] * reference.square().mean().sqrt() + job["tolerance"]["rel"] * reference.abs()
        worst = max(worst, float(((one.double() - reference).abs() / allowed).nan_to_num(nan=math.inf).max()))
    return worst


def formula_ratio(problem: Problem, job: dict[str, Any], call: tuple[int, int, int], result: Any) -> float:
    """The reference's error over its tolerance, against the result from all ranks' arguments."""
    binding = bind(problem, job["size"], job["world"], job["dtype"])
    jobs = [judge_job(binding, rank) for rank in range(job["world"])]
    everybody = [[draw(argument, each, *call) for argument in each["inputs"]] for each in jobs]
    wanted = expected(problem.number, everybody, job["rank"])
    if job["compare"] == "close":
        result = tuple(item.double() for item in tensors(result))
    return ratio(result, wanted, job)


def measure(problem: Problem, dtype: str, rank: int, world: int, size: str) -> dict[str, list[float]]:
    """Error ratios of the calls of every variant; a third figure is 1 when an argument that must stay changed."""
    job = {**judge_job(bind(problem, size, world, dtype), rank), "size": size}

    def arguments(call: tuple[int, int, int]) -> list[Any]:
        return [draw(argument, job, *call) for argument in job["inputs"]]

    reference = load(problem.reference_path.read_text(encoding="utf-8"))
    wanted = [reference(*arguments(call)) for call in _CALLS]
    found = {
        "formula": [formula_ratio(problem, job, call, result) for call, result in zip(_CALLS, wanted, strict=True)]
    }
    for name in NAMES:
        source = variant_source(problem, name)
        if source is None:
            continue
        solution, changed = load(source), False
        found[name] = []
        for call, right in zip(_CALLS, wanted, strict=True):
            given, before = arguments(call), arguments(call)
            found[name].append(ratio(solution(*given), right, job))
            fixed = [i for i, argument in enumerate(job["inputs"]) if argument["mutates"] == "none"]
            changed |= any(isinstance(given[i], torch.Tensor) and not torch.equal(given[i], before[i]) for i in fixed)
        found[name].append(float(changed))
    return found


def run_rank(rank: int, world: int, folder: Path, size: str, numbers: set[int]) -> None:
    """Join the group and measure all problems."""
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), world)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    found = {}
    for entry in catalogue():
        if not numbers or entry.number in numbers:
            problem = load_problem(entry.folder)
            found[entry.stem] = {dtype: measure(problem, dtype, rank, world, size) for dtype in DTYPES}
    dist.destroy_process_group()
    (folder / f"{rank}.json").write_text(json.dumps(found))


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
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], set(map(int, sys.argv[4:]))))
