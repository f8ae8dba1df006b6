"""Candidates for every problem, right and wrong ones, made by wrapping the text of its reference.

``variant_source(problem, name)`` is a complete working file; ``None`` means that the variant does not apply, for the
reason that ``not_applicable`` gives. Each takes part in the collectives on every rank, so none of them hangs.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from textwrap import dedent, indent

from problems.model import Problem

HONEST = ("reference", "float32_accumulation", "other_order")
WRONG = (
    "zeros",
    "local_only",
    "skip_a_rank",
    "stale",
    "only_rank0",
    "float16",
    "other_rank",
    "mutates_input",
)
"""``stale`` is right on its first call, ``float16`` shows in float32 runs, ``mutates_input`` returns what it should."""
NAMES = (*HONEST, *WRONG)

_SAME = "every rank's result is the same"
_MOVES = "the problem only moves data, nothing is summed"
_INTEGERS = "the data are integers"
_REASONS: Mapping[str, Mapping[int, str]] = {
    "float32_accumulation": {**dict.fromkeys((2, 3, 5, 6, 8), _MOVES), 64: _INTEGERS},
    "other_order": {
        **dict.fromkeys((2, 3, 5, 6, 8), _MOVES),
        64: _INTEGERS,
    },
    "float16": {64: _INTEGERS},
    "other_rank": dict.fromkeys((1, 2, 3, 13, 73), _SAME),
}

_HELPERS = """
_reference = solution


def _each(change, result):
    return tuple(change(item) for item in result) if isinstance(result, tuple) else change(result)


class _Collectives:
    def __getattr__(self, name):
        return getattr(_real, name)
"""

_LOCAL = """
class _LocalCollectives(_Collectives):
    def all_reduce(self, tensor, op=None, group=None):
        pass

    def reduce(self, tensor, dst):
        pass

    def broadcast(self, tensor, src):
        pass

    def all_gather_into_tensor(self, out, tensor):
        out.view(_real.get_world_size(), -1).copy_(tensor.reshape(1, -1))

    def reduce_scatter_tensor(self, out, tensor):
        out.copy_(tensor.reshape(_real.get_world_size(), -1)[_real.get_rank()].view_as(out))

    def scatter(self, piece, pieces=None, src=0):
        piece.copy_(pieces[src]) if pieces else piece.zero_()

    def gather(self, tensor, pieces=None, dst=0):
        for piece in pieces or []:
            piece.copy_(tensor)

    def all_to_all_single(self, out, tensor, received=None, sent=None, group=None):
        out.copy_(tensor)

    def batch_isend_irecv(self, both):
        both[1].tensor.copy_(both[0].tensor)
        return []


dist = _LocalCollectives()
"""

_WITHOUT_RANK_1 = """
class _WithoutRank1(_Collectives):
    def _sent(self, tensor):
        return torch.zeros_like(tensor) if _real.get_rank() == 1 else tensor

    def all_reduce(self, tensor, op=_real.ReduceOp.SUM, group=None):
        if _real.get_rank() == 1:
            tensor.fill_(0 if op == _real.ReduceOp.SUM else float("-inf"))
        _real.all_reduce(tensor, op=op, group=group)

    def reduce(self, tensor, dst):
        _real.reduce(self._sent(tensor) if _real.get_rank() != dst else tensor, dst)

    def broadcast(self, tensor, src):
        _real.broadcast(tensor.clone() if _real.get_rank() == 1 else tensor, src)

    def all_gather_into_tensor(self, out, tensor):
        _real.all_gather_into_tensor(out, self._sent(tensor))

    def reduce_scatter_tensor(self, out, tensor):
        _real.reduce_scatter_tensor(out, self._sent(tensor))

    def scatter(self, piece, pieces=None, src=0):
        _real.scatter(piece, pieces, src=src)
        piece.copy_(self._sent(piece))

    def gather(self, tensor, pieces=None, dst=0):
        _real.gather(self._sent(tensor), pieces, dst=dst)

    def all_to_all_single(self, out, tensor):
        _real.all_to_all_single(out, self._sent(tensor))


dist = _WithoutRank1()
"""

_BACKWARDS = """
class _Backwards(_Collectives):
    def _all(self, tensor, group=None):
        every = [torch.empty_like(tensor) for _ in range(_real.get_world_size(group))]
        _real.all_gather(every, tensor.contiguous(), group=group)
        return every[::-1]

    def all_reduce(self, tensor, op=_real.ReduceOp.SUM, group=None):
        if op != _real.ReduceOp.SUM:
            _real.all_reduce(tensor, op=op, group=group)
            return
        first, *others = self._all(tensor, group)
        for other in others:
            first += other
        tensor.copy_(first)

    def reduce(self, tensor, dst):
        self.all_reduce(tensor)

    def reduce_scatter_tensor(self, out, tensor):
        total = tensor.clone()
        self.all_reduce(total)
        out.copy_(total.reshape(_real.get_world_size(), -1)[_real.get_rank()].view_as(out))


dist = _Backwards()
"""

_WIDER = """
def _widened(value):
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    return value.to(torch.float32 if value.itemsize < 4 else torch.float64)


def _narrow_to(dtype):
    return lambda item: item.to(dtype) if item.is_floating_point() else item
"""

_RETURN = "return _reference({names})"
_PARTS: Mapping[str, tuple[str, str]] = {
    "float32_accumulation": (_WIDER, "return _each(_narrow_to({first}.dtype), _reference({widened}))"),
    "other_order": (_BACKWARDS, _RETURN),
    "zeros": ("", "return _each(torch.zeros_like, _reference({names}))"),
    "local_only": (_LOCAL, _RETURN),
    "skip_a_rank": (_WITHOUT_RANK_1, _RETURN),
    "stale": (
        "_results = []",
        """
        _results.append(_each(torch.clone, _reference({names})))
        return _each(torch.clone, _results[0] if len(_results) == 1 else _results.pop(0))
        """,
    ),
    "only_rank0": (
        "",
        """
        result = _reference({names})
        return result if _real.get_rank() == 0 else _each(torch.zeros_like, result)
        """,
    ),
    "float16": ("", "return _each(lambda item: item.half().to(item.dtype), _reference({names}))"),
    "other_rank": (
        "",
        """
        results = [None] * _real.get_world_size()
        _real.all_gather_object(results, _reference({names}))
        return results[(_real.get_rank() + 1) % len(results)]
        """,
    ),
    "mutates_input": (
        "",
        """
        result = _each(torch.clone, _reference({names}))
        {kept}.add_(1)
        return result
        """,
    ),
}
_SPECIAL: Mapping[tuple[str, int], tuple[str, str]] = {
    # The ring has no sum to reorder: all keys in one softmax instead.
    ("other_order", 54): (
        "",
        """
        world, rank = _real.get_world_size(group), _real.get_rank(group)
        both = torch.stack((k, v)).contiguous()
        every = [torch.empty_like(both) for _ in range(world)]
        _real.all_gather(every, both, group=group)
        keys, values = torch.cat(every, dim=2).transpose(2, 3).float()
        scores = q.transpose(1, 2).float() @ keys.mT * (softmax_scale or q.shape[-1] ** -0.5)
        here = torch.arange(q.shape[1]).unsqueeze(1) + rank * q.shape[1]
        if causal:
            scores = scores.masked_fill(torch.arange(keys.shape[2]) > here, float("-inf"))
        return (scores.softmax(dim=-1) @ values).transpose(1, 2).to(q.dtype).contiguous()
        """,
    ),
    # With the causal mask only later ranks see a rank's keys, so the first rank is the one to leave out.
    ("skip_a_rank", 54): (
        "",
        """
        if _real.get_rank(group) == 0:
            k, v = torch.zeros_like(k), torch.zeros_like(v)
        return _reference({names})
        """,
    ),
    # Zeroed counts would break the exchange: rank 1 answers with node 0 instead.
    ("skip_a_rank", 64): (
        "",
        """
        if _real.get_rank(group) == 1:
            local_adj_col = torch.zeros_like(local_adj_col)
        return _reference({names})
        """,
    ),
    # Only one rank holds the stack: each of its slices comes from the rank before.
    ("other_rank", 6): (
        "",
        """
        result = _reference({names})
        return result.roll(1, 0) if _real.get_rank() == dst else result
        """,
    ),
}


def not_applicable(problem: Problem, name: str) -> str:
    """Why a variant makes no sense for a problem; empty where it applies."""
    return _REASONS.get(name, {}).get(problem.number, "")


def variant_source(problem: Problem, name: str) -> str | None:
    """The text of a candidate for a problem, or None where the variant does not apply."""
    if name not in NAMES:
        raise KeyError(name)
    text = problem.reference_path.read_text(encoding="utf-8")
    if name == "reference":
        return text
    if not_applicable(problem, name):
        return None
    preamble, body = _SPECIAL.get((name, problem.number)) or _PARTS[name]
    arguments = next(node.args for node in ast.parse(text).body if _is_solution(node))
    names = [argument.arg for argument in arguments.args]
    tensors = [item for item in problem.inputs if item.kind == "tensor"]
    filled = (
        dedent(body)
        .strip()
        .format(
            names=", ".join(names),
            widened=", ".join(f"_widened({argument})" for argument in names),
            first=tensors[0].name,
            kept=next(item.name for item in tensors if item.mutates == "none"),
        )
    )
    solution = f"def solution({ast.unparse(arguments)}):\n{indent(filled, '    ')}\n"
    return "\n\n".join([text, "_real = dist", _HELPERS.strip(), preamble.strip(), solution])


def _is_solution(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "solution"
