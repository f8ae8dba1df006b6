"""The comment at the top of a starter: what is called, what may be written to, what is compared and how."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from problems.model import Compare, Effect, Problem
from problems.wording import RULES, effective_rule

_EFFECTS: Mapping[Effect, str] = {
    "must": "writes its results to {}, which are compared too",
    "may": "may write to {}",
    "none": "leaves {} as they are",
}
_WIDTH = 117


def header(problem: Problem, last: str) -> str:
    """Comment lines; ``last`` says what this starter does and what to do with it."""
    sentences = [
        f"Problem {problem.number}: {problem.title}.",
        f"Every rank calls solution({', '.join(problem.arguments)}) in an initialised process group.",
        f"The call {_effects(problem)}.",
        f"Compared on every rank: {_compared(problem)}.",
        last,
    ]
    lines = [line for sentence in sentences for line in textwrap.wrap(sentence, _WIDTH, break_on_hyphens=False)]
    return "".join(f"# {line}\n" for line in lines)


def _effects(problem: Problem) -> str:
    groups = {effect: [item.name for item in problem.inputs if item.mutates == effect] for effect in _EFFECTS}
    written = [_EFFECTS[effect].format(", ".join(groups[effect])) for effect in ("must", "may") if groups[effect]]
    if not groups["none"]:
        return ", ".join(written)
    return ", ".join([*written, _EFFECTS["none"].format("all others" if written else "its arguments")])


def _compared(problem: Problem) -> str:
    rules: dict[Compare, list[str]] = {}
    for output in problem.outputs:
        rules.setdefault(effective_rule(problem, output), []).append(output.name)
    rules = rules or {problem.compare: ["the whole result"]}
    return "; ".join(f"{', '.join(names)} ({RULES[rule]})" for rule, names in rules.items())
