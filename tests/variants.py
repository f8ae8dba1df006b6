"""Candidates for every problem, right and wrong ones, made by wrapping the text of its reference.

``variant_source(problem, name)`` is a complete working file; ``None`` means that the variant does not apply, for the
reason that ``not_applicable`` gives. Each takes part in the collectives on every rank, so none of them hangs. What a
problem needs otherwise stands in its module of ``tests.problems.cases``.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from functools import cache
from textwrap import dedent, indent
from types import ModuleType

from problems.binding import bind, figure, shape_of
from problems.model import Binding, Input, Output, Problem
from tests.collectives import BACKWARDS, COMMON, LOCAL, WITHOUT_RANK_1

HONEST = ("reference", "float32_accumulation", "other_order")
WRONG = (
    "zeros",
    "unchanged",
    "local_only",
    "skip_a_rank",
    "one_rank_wrong",
    "other_rank",
    "stale",
    "float16",
    "mutates_input",
)
"""``stale`` is right on its first call, ``float16`` shows in float32 runs, ``mutates_input`` returns what it should,
``unchanged`` returns arguments of the result's form and leaves what it should update."""
NAMES = (*HONEST, *WRONG)

_HELPERS = """
_reference = solution
_kept = {kept}


def _each(change, result):
    if isinstance(result, (tuple, list)) and not isinstance(result, torch.Size):
        return tuple(_each(change, item) for item in result)
    if isinstance(result, dict):
        return {{key: _each(change, item) for key, item in result.items()}}
    return change(result) if isinstance(result, torch.Tensor) else result


def _leaves(value):
    if isinstance(value, torch.Tensor):
        return [value] if value.layout == torch.strided else [value._values()]
    if isinstance(value, torch.nn.Module):
        return [parameter.data for parameter in value.parameters()]
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, (tuple, list)) else []


def _nothing(result):
    return torch.zeros_like(result)
"""

_WIDER = """
def _wide_dtype(dtype):
    if dtype.is_complex:
        return torch.complex128
    return torch.float32 if dtype.itemsize < 4 else torch.float64


def _widened(value):
    if isinstance(value, torch.Tensor):
        changes = (value.is_floating_point() or value.is_complex()) and value.layout == torch.strided
        return value.to(_wide_dtype(value.dtype)) if changes else value.clone()
    if isinstance(value, torch.nn.Module):
        import copy

        return copy.deepcopy(value).to(_wide_dtype(value.weight.dtype))
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(_widened(item) for item in value)
    return value


def _narrowed(value, like):
    return _each(lambda item: item.to(like) if item.dtype != like else item, value)


def _write_back(arguments, widened):
    for place in _updated:
        for one, other in zip(_leaves(arguments[place]), _leaves(widened[place])):
            one.copy_(other)
"""

_RETURN = "return _reference({names})"
_PARTS: Mapping[str, tuple[str, str]] = {
    "float32_accumulation": (
        _WIDER,
        """
        wide = [_widened(item) for item in ({names},)]
        result = _reference(*wide)
        _write_back(({names},), wide)
        {narrowed}
        """,
    ),
    "other_order": (BACKWARDS, _RETURN),
    "zeros": ("", "return _each(_nothing, _reference({names}))"),
    "unchanged": (
        "",
        """
        before = [leaf.clone() for item in ({names},) for leaf in _leaves(item)]
        result = _reference({names})
        for leaf, old in zip([leaf for item in ({names},) for leaf in _leaves(item)], before):
            leaf.data.copy_(old)
        used = []

        def same_form(item):
            for place, old in enumerate(before):
                if place not in used and (old.shape, old.dtype) == (item.shape, item.dtype):
                    used.append(place)
                    return old
            return item

        return _each(same_form, result)
        """,
    ),
    "local_only": (LOCAL, _RETURN),
    "skip_a_rank": (WITHOUT_RANK_1, _RETURN),
    "stale": (
        "_results = []",
        """
        _results.append(_each(torch.clone, _reference({names})))
        return _each(torch.clone, _results[0] if len(_results) == 1 else _results.pop(0))
        """,
    ),
    "one_rank_wrong": (
        "",
        """
        result = _reference({names})
        return _each(_nothing, result) if _real.get_rank() == _real.get_world_size() - 1 else result
        """,
    ),
    "float16": (
        "",
        """
        def rounded(item):
            return item.half().to(item.dtype) if item.is_floating_point() and item.itemsize == 4 else item

        return _each(rounded, _reference({names}))
        """,
    ),
    "other_rank": (
        "",
        """
        results = [None] * _real.get_world_size()
        _real.all_gather_object(results, _each(torch.detach, _reference({names})))
        return results[(_real.get_rank() + 1) % len(results)]
        """,
    ),
    "mutates_input": (
        "",
        """
        result = _each(torch.clone, _reference({names}))
        leaf = _leaves(({names},)[_kept])[0]
        leaf.logical_not_() if leaf.dtype == torch.bool else leaf.data.add_(1)
        return result
        """,
    ),
}


@cache
def case_of(number: int) -> ModuleType:
    """The module of a problem in ``tests.problems.cases``."""
    return importlib.import_module(f"tests.problems.cases.p{number:03}")


def not_applicable(problem: Problem, name: str, world: int = 2) -> str:
    """Why a variant makes no sense for a problem on so many ranks; empty where it applies."""
    if name not in NAMES:
        raise KeyError(name)
    case = case_of(problem.number)
    own: Mapping[str, str] = getattr(case, "INAPPLICABLE", {})
    if name in own:
        return own[name]
    binding = bind(problem, "smoke", world, problem.dtypes[0])
    return "" if name in getattr(case, "VARIANTS", {}) and name not in _SILENT else _reason(binding, name)


_SILENT = ("local_only", "skip_a_rank")
"""Variants that are right where no communication is needed, whoever wrote them."""


def _reason(binding: Binding, name: str) -> str:
    problem = binding.problem
    if name in ("float32_accumulation", "other_order") and _moves_only(problem):
        return "the problem only moves data or counts, nothing is rounded"
    if name == "other_order" and not {"all_reduce", "reduce", "reduce_scatter_tensor"} & set(problem.collectives):
        return "no collective of the reference sums"
    if name in ("float16",) and not _float32_output(problem):
        return "no output is a float32 in a float32 run"
    if name in _SILENT and not any(needed(binding, rank) for rank in range(binding.world)):
        return f"needs no communication on {binding.world} ranks"
    if name == "unchanged" and not _has_twin(binding):
        return "no argument has the form of a result"
    if name == "mutates_input" and _kept(problem) is None:
        return "every tensor argument may be written to"
    return ""


def needed(binding: Binding, rank: int) -> float:
    """The bytes that a rank must send or receive."""
    return figure(binding, binding.problem.figures.needed_bytes, rank)


def _moves_only(problem: Problem) -> bool:
    kinds = ("tensor", "tensors")
    return all(
        problem.rule(output) in ("exact", "set", "lookup") or "int" in output.dtype
        for output in problem.outputs
        if output.kind in kinds
    )


def _float32_output(problem: Problem) -> bool:
    return any(o.dtype in ("dtype", "float32") and o.kind in ("tensor", "tensors") for o in problem.outputs)


def _has_twin(binding: Binding) -> bool:
    problem = binding.problem
    if any(item.mutates == "must" for item in problem.inputs):
        return True
    forms = [_form(binding, item) for item in problem.inputs if item.kind == "tensor"]
    return any(_form(binding, output) in forms for output in problem.outputs if output.kind == "tensor")


def _form(binding: Binding, item: Input | Output) -> tuple[object, ...]:
    return (shape_of(binding, item, 0), binding.dtype if item.dtype == "dtype" else item.dtype)


def _kept(problem: Problem) -> int | None:
    kinds = ("tensor", "tensors", "linear")
    passed = [item for item in problem.inputs if not item.default]
    return next((i for i, item in enumerate(passed) if item.kind in kinds and item.mutates == "none"), None)


def variant_source(problem: Problem, name: str, world: int = 2) -> str | None:
    """The text of a candidate for a problem, or None where the variant does not apply."""
    text = problem.reference_source()
    if name == "reference":
        return text
    if not_applicable(problem, name, world):
        return None
    own: Mapping[str, tuple[str, str]] = getattr(case_of(problem.number), "VARIANTS", {})
    preamble, body = own.get(name) or _PARTS[name]
    arguments = next(node.args for node in ast.parse(text).body if _is_solution(node))
    names = ", ".join(argument.arg for argument in arguments.args)
    filled = dedent(body).strip().replace("{names}", names).replace("{narrowed}", _narrowing(problem))
    solution = f"def solution({ast.unparse(arguments)}):\n{indent(filled, '    ')}\n"
    updated = [i for i, item in enumerate(problem.inputs) if item.mutates != "none"]
    helpers = _HELPERS.format(kept=_kept(problem)).strip() + f"\n_updated = {updated}\n"
    return "\n\n".join([text, "_real = dist", COMMON.strip(), helpers, preamble.strip(), solution])


def _narrowing(problem: Problem) -> str:
    """Statements that return the result in the dtypes that the contract has."""
    first = next((item for item in problem.inputs if item.dtype == "dtype" and item.kind in _FLOATING), None)
    run = f"_leaves({first.name})[0].dtype" if first else "None"
    wanted = [run if o.dtype == "dtype" else f"torch.{o.dtype}" for o in problem.outputs]
    lines = [f"likes = [{', '.join(wanted)}]"]
    if len(wanted) == 1:
        return "; ".join([*lines, "return _narrowed(result, likes[0])"])
    parts = "tuple(_narrowed(*pair) for pair in zip(result, likes))"
    return "; ".join([*lines, f"return {parts}"])


_FLOATING = ("tensor", "tensors", "linear")


def _is_solution(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "solution"
