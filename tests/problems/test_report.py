"""What `make problems-report` calls worse, and the page that it makes."""

from __future__ import annotations

import json

import pytest

from problems.loader import catalogue, load_problem
from tests.problems.report import PAGE, RECORDED, page, worse
from tests.variants import NAMES, not_applicable, variant_source

PROBLEMS = [load_problem(entry.folder) for entry in catalogue()]
THEN = {"1_x P=2 float32": {"reference": 0.0, "other_order": 0.2, "zeros": 40.0, "local_only": 1e5}}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("other_order", 0.2, ""),
        ("other_order", 0.3, ""),
        ("other_order", 0.5, "other_order went from 0.2 to 0.5 tolerances"),
        ("zeros", 30.0, ""),
        ("zeros", 20.0, "zeros went from 40 to 20 tolerances"),
        ("local_only", 2000.0, ""),
        ("local_only", 300.0, "local_only went from 100000 to 300 tolerances"),
    ],
)
def test_worse(name: str, value: float, message: str) -> None:
    """An honest variant that uses much more of the tolerance and a wrong one that is nearer to it are reported."""
    (label,) = THEN
    now = {label: {**THEN[label], name: value}}
    assert worse(now, THEN) == ([f"{label}: {message}"] if message else [])


def test_what_is_not_tried_any_more_is_worse() -> None:
    """A case or a variant that is gone is reported."""
    (label,) = THEN
    assert worse({}, THEN) == [f"{label}: not measured any more"]
    assert worse({label: {"reference": 0.0, "other_order": 0.2, "zeros": 40.0}}, THEN) == [
        f"{label}: local_only is not tried any more"
    ]


def test_page_shows_what_was_recorded() -> None:
    """docs/problems.md is the rendering of the recorded figures, with a row for every problem."""
    assert PAGE.read_text() == page(json.loads(RECORDED.read_text()), PROBLEMS)


@pytest.mark.parametrize("name", NAMES)
def test_variants_apply_or_say_why(name: str) -> None:
    """Every variant of every problem is a whole file, or has a reason for not applying."""
    for problem in PROBLEMS:
        source = variant_source(problem, name)
        assert (source is None) == bool(not_applicable(problem, name)), problem.stem
        if source is not None:
            compile(source, f"{problem.stem}_{name}.py", "exec")
