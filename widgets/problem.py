"""What the problem asks for: statement, arguments and results, tolerance, figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict

from textual.content import Content

from problems.binding import figure
from problems.model import Collective, Problem
from problems.wording import EFFECTS, argument, comparisons, largest, result
from widgets import format as fmt
from widgets.floors import floor_text
from widgets.layout import field, heading, wrapped
from widgets.plain import plain
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView
from workbench.target import Target
from workbench.topology.cost import as_floor, roofline
from workbench.topology.terms import work_of


class ProblemPane(ReadingPane):
    """The problem at the chosen size, ranks and dtype."""

    HELP = f"""
### Problem

What `solution` gets and returns on every rank, how results are compared, and how many bytes have to move.
Shapes are given in symbols, then in numbers for the size and ranks of this sitting.
{KEYS_HELP}"""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target

    def on_mount(self) -> None:
        """The text does not change with the runs."""
        self.relayout()

    def show_view(self, view: RunView) -> None:
        """Runs change nothing here."""

    def build(self, width: int) -> list[Content]:
        """All sections, wrapped to the width."""
        target = self._target
        lines = list(_title(target, width))
        for name, section in (
            ("Arguments", _arguments(target, width)),
            ("Result", _results(target, width)),
            ("Compared", _comparison(target, width)),
            ("Figures a rank", _figures(target, width)),
            ("Symbols", _symbols(target, width)),
            ("How the reference does it", _paragraphs(target.problem.algorithm, width)),
            ("Notes", _paragraphs(target.problem.notes, width)),
        ):
            body = list(section)
            lines += [Content(), heading(name), *body] if body else []
        return lines


def _title(target: Target, width: int) -> Iterator[Content]:
    problem, binding = target.problem, target.binding
    yield from wrapped(heading(f"{problem.number}  {plain(problem.title)}"), width, indent=4)
    kinds = ", ".join(problem.parallelism)
    yield from wrapped(Content.styled(f"{problem.group}{' · ' if kinds else ''}{kinds}", "dim"), width)
    chosen = f"{target.backend} · {target.place} · size {binding.size} · {binding.dtype}"
    yield from wrapped(Content.styled(chosen, "dim"), width)
    yield Content()
    yield from _paragraphs(problem.statement, width)


def _paragraphs(text: str, width: int) -> Iterator[Content]:
    """Lines as they are written, each wrapped; a numbered or indented line goes on under its text."""
    for line in text.strip().splitlines():
        lead = re.match(r"\s*(\d+\.|[-*])?\s*", line)
        yield from wrapped(plain(line.rstrip()), width, indent=min(8, len(lead.group())) if lead else 0)


def _arguments(target: Target, width: int) -> Iterator[Content]:
    names = max((len(item.name) for item in target.problem.inputs), default=0)
    for item in target.problem.inputs:
        facts = [argument(target.binding, item), EFFECTS[item.mutates], "default" if item.default else ""]
        text = Content.styled(item.name.ljust(names), "bold") + "  " + plain(", ".join(filter(None, facts)))
        yield from wrapped(text, width, indent=4)
        if item.note:
            yield from wrapped(Content.styled(f"    {plain(item.note)}", "dim"), width, indent=4)


def _results(target: Target, width: int) -> Iterator[Content]:
    names = max((len(item.name) for item in target.problem.outputs), default=0)
    for item in target.problem.outputs:
        text = Content.styled(item.name.ljust(names), "bold") + f"  {plain(result(target.binding, item))}"
        yield from wrapped(text, width, indent=4)


def _comparison(target: Target, width: int) -> Iterator[Content]:
    problem = target.problem
    for names, rule in comparisons(target.binding):
        yield from wrapped(Content.styled(names, "bold") + f"  {rule}", width, indent=4)
    if len(problem.scales) > 1:
        yield from wrapped(f"Trials also scale the inputs by {', '.join(f'{one:g}' for one in problem.scales)}.", width)


def _figures(target: Target, width: int) -> Iterator[Content]:
    figures, binding = target.problem.figures, target.binding
    if not figures.known:
        yield from field("needed", "not known for this task", width)
        return
    remark = " for the published data" if figures.data_dependent else ""
    needed = largest(binding, "needed_bytes")
    words = f"{fmt.moved(needed)} over links{remark}" if needed else "nothing has to move between ranks"
    yield from field("needed", words, width)
    yield from field("reference", f"{fmt.moved(largest(binding, 'reference_bytes'))} over links", width)
    yield from field("arithmetic", f"{fmt.operations(largest(binding, 'flops'))} operations", width)
    yield from field("memory", f"{fmt.moved(largest(binding, 'hbm_bytes'))} read and written", width)
    if target.problem.collectives:
        yield from field("calls", ", ".join(target.problem.collectives), width)
    collective: Collective | None = target.problem.collective
    if collective:
        size = fmt.moved(figure(binding, collective.bytes))
        yield from field("busbw", f"{collective.op} of {size}", width)
    work = work_of(binding)
    if work and target.what_if:
        yield from field("floor", plain(floor_text(asdict(as_floor(roofline(work, target.what_if))))), width)


def _symbols(target: Target, width: int) -> Iterator[Content]:
    problem: Problem = target.problem
    for name, value in target.binding.symbols.items():
        number = fmt.count(value) if isinstance(value, int) else f"{value:g}"
        formula = problem.symbols.get(name, "")
        yield from field(name, f"{number}{f' = {formula}' if formula else ''}", width)
