"""A problem in words and numbers: arguments and results on every rank, how each is compared, which ranks it needs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from problems.binding import bind, dtype_of, figure, obstacles, shape_of
from problems.formula import parse
from problems.model import Binding, Compare, Effect, Input, Output, Problem

RULES: Mapping[Compare, str] = {
    "close": "within the tolerance",
    "exact": "every bit the same",
    "set": "the same elements in any order",
    "between": "between the bounds that the algorithm allows",
    "allclose": "as the checkout's harness compares, any dtype",
    "lookup": "labels that belong to the values of the result before, none of them twice",
}
EFFECTS: Mapping[Effect, str] = {"none": "", "may": "may be changed", "must": "changed in place, and compared"}
_FORMS: Mapping[str, str] = {
    "tensors": "list of tensors, the first number counts them",
    "linear": "torch.nn.Linear with bias, out and in",
    "sparse": "sparse COO tensor",
}
"""What a shape belongs to where it is no plain tensor."""
_DATA = "as many as the data decide"
_FLOATS = ("dtype", "bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "complex64")


def signature(problem: Problem) -> str:
    """The head of the reference's ``solution`` as it is written, without ``def``; names alone where it has none."""
    try:
        tree = ast.parse(problem.reference_source())
    except (OSError, SyntaxError):
        tree = ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "solution":
            result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"solution({ast.unparse(node.args)}){result}"
    return f"solution({', '.join(item.name for item in problem.inputs)})"


def argument(binding: Binding, item: Input) -> str:
    """What an argument is: ``(M, N) = (1024, 1024) bfloat16``, ``float = 0.001``, a group and its ranks."""
    if item.kind == "any":
        return "made by the checkout's generator"
    if item.shape:
        return shapes(binding, item)
    draw = item.draw
    if draw.kind == "group":
        whole = f"process group of the ranks with the same {draw.formula}"
        return whole if draw.when == "1" else f"{whole}; None where {draw.when} is 0"
    if draw.kind == "value":
        return f"{item.kind} = {draw.value!r}"
    return f"{item.kind} = {_computed(binding, draw.formula)}" if draw.kind == "formula" else item.kind


def result(binding: Binding, item: Output) -> str:
    """What a part of the result is."""
    if item.kind == "any":
        return "what the checkout's reference returns"
    return shapes(binding, item) if item.kind in ("tensor", "tensors") else item.kind


def shapes(binding: Binding, item: Input | Output) -> str:
    """``(M, N) = (1024, 1024) bfloat16``; ranks are told apart where their shapes differ."""
    symbols = _tuple([_DATA if size == "data" else size for size in item.shape])
    if item.elsewhere is not None:
        symbols += f" on rank 0, {_tuple(item.elsewhere)} on the others"
    numbers = by_rank([_numbers(shape_of(binding, item, rank)) for rank in range(binding.world)])
    same = symbols.replace(" ", "") == numbers.replace(" ", "")
    form = f", {_FORMS[item.kind]}" if item.kind in _FORMS else ""
    return f"{symbols}{'' if same else f' = {numbers}'} {dtype_of(binding, item)}{form}"


def effective_rule(problem: Problem, item: Output) -> Compare:
    """The rule for a part of the result; numbers that are not floating-point are close only where they are equal."""
    rule = problem.rule(item)
    return "exact" if _is_whole(item) and rule == "close" else rule


def compared(binding: Binding, item: Output) -> str:
    """How a part of the result is compared, with its tolerance in numbers."""
    rule, limits = effective_rule(binding.problem, item), binding.problem.limits(item)
    rms, rel = limits.rms[binding.dtype], limits.rel[binding.dtype]
    if rule == "allclose":
        return f"{RULES[rule]}, |got - ref| <= {rms:g} + {rel:g} * |ref|"
    if _is_whole(item) or rule in ("exact", "lookup"):
        return RULES[rule]
    share = f"; a share of {item.share:g} may miss it" if item.share else ""
    return f"{RULES[rule]}, |got - ref| <= {rms:g} * rms(ref) + {rel:g} * |ref|{share}"


def comparisons(binding: Binding) -> list[tuple[str, str]]:
    """Names of results and how they are compared; results that are compared alike stand together."""
    rules: dict[str, list[str]] = {}
    for item in binding.problem.outputs:
        rules.setdefault(compared(binding, item), []).append(item.name)
    return [(", ".join(names), rule) for rule, names in rules.items()]


def worlds(problem: Problem, size: str, dtype: str) -> tuple[list[int], list[tuple[str, list[int]]]]:
    """World sizes that are possible, and the reasons of those that are not, each with its world sizes."""
    found = obstacles(problem, size, dtype)
    reasons = dict.fromkeys(filter(None, found.values()))
    possible = [world for world, reason in found.items() if not reason]
    return possible, [(reason, [world for world in found if found[world] == reason]) for reason in reasons]


def communicates_from(problem: Problem, size: str, dtype: str) -> int | None:
    """The least number of ranks on which bytes have to move; None where none ever have to."""
    for world in worlds(problem, size, dtype)[0]:
        if largest(bind(problem, size, world, dtype), "needed_bytes") > 0:
            return world
    return None


def figure_by_rank(binding: Binding, name: str) -> list[float]:
    """One of the problem's figures on every rank; ``name`` is that of a field of :class:`problems.model.Figures`."""
    formula: str = getattr(binding.problem.figures, name)
    return [figure(binding, formula, rank) for rank in range(binding.world)]


def largest(binding: Binding, name: str) -> float:
    """The busiest rank's figure."""
    return max(figure_by_rank(binding, name))


def by_rank(texts: Sequence[str]) -> str:
    """One text, or each text with the ranks that have it."""
    ranks = {text: [str(rank) for rank, other in enumerate(texts) if other == text] for text in texts}
    if len(ranks) == 1:
        return texts[0]
    return ", ".join(f"{text} on rank {', '.join(numbers)}" for text, numbers in ranks.items())


def _is_whole(item: Output) -> bool:
    return item.kind not in ("tensor", "tensors") or item.dtype not in _FLOATS


def _computed(binding: Binding, formula: str) -> str:
    """A formula with its value, where neither rank nor trial changes it: ``2 * E = 16``."""
    if parse(formula).symbols <= binding.symbols.keys():
        value = f"{figure(binding, formula):.12g}"
        return formula if value == formula else f"{formula} = {value}"
    return formula


def _numbers(shape: Sequence[int]) -> str:
    return _tuple([str(size) if size >= 0 else _DATA for size in shape])


def _tuple(sizes: Sequence[str]) -> str:
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
