"""The texts that a model is sent."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from problems.starter import BACKENDS, starter_text
from tests.checkout import KNOWN, OWN, write_checkout
from tests.llm import pins
from workbench.config import LlmSettings, ProblemSettings, Settings
from workbench.errors import UsageError
from workbench.llm.feedback import Collected, Context, feedback_text
from workbench.llm.prompt import conversation_start
from workbench.llm.templates import Templates
from workbench.resolve import Opener

PINS = dict(pins.texts())


@pytest.mark.parametrize("name", sorted(PINS))
def test_text_is_pinned(name: str) -> None:
    """What a model reads changes only on purpose: `python -m tests.llm.pins` writes these files anew."""
    assert PINS[name] == (pins.FOLDER / name).read_text(encoding="utf-8")


def test_every_pin_is_rendered() -> None:
    """No file is left over from a template or backend that is gone."""
    assert {path.name for path in pins.FOLDER.iterdir()} == set(PINS)


@pytest.mark.parametrize("backend", BACKENDS)
def test_prompt_has_a_working_example(backend: str) -> None:
    """Each backend's prompt ends with a file of that backend that runs, and holds the whole reference."""
    target = pins.target(backend)
    task = conversation_start(target, pins.SETTINGS)[-1]["content"]
    assert starter_text(target.problem, backend).strip() in task
    assert target.problem.reference_source().strip() in task


def test_own_template_goes_first(tmp_path: Path) -> None:
    """A file in the user's folder takes the place of the one of that name; the others stay."""
    (tmp_path / "task.md").write_text("Make {{ target.problem.title }} fast on {{ target.world }} ranks.\n")
    system, task = conversation_start(pins.target(), Settings(llm=LlmSettings(templates=str(tmp_path))))
    assert task["content"] == "Make Row-parallel GEMM with all-reduce fast on 8 ranks.\n"
    assert system["content"].startswith("You write multi-GPU kernels.")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ no_such_fact }}", "template task.md: 'no_such_fact' is undefined"),
        ("\n\n{% if %}", r"task.md:3: "),
        ("{% include 'lost.md' %}", "no template lost.md"),
    ],
)
def test_broken_template_is_named(text: str, words: str, tmp_path: Path) -> None:
    """A template that cannot be rendered is named with its line or with what it asks for."""
    (tmp_path / "task.md").write_text(text)
    with pytest.raises(UsageError, match=words):
        conversation_start(pins.target(), Settings(llm=LlmSettings(templates=str(tmp_path))))


def test_templates_folder_that_is_none(tmp_path: Path) -> None:
    """A folder that is not there is told before anything is sent."""
    with pytest.raises(UsageError, match="not a folder"):
        conversation_start(pins.target(), Settings(llm=LlmSettings(templates=str(tmp_path / "none"))))


def test_machine_that_ranks_run_on() -> None:
    """Without a system of the catalogue the prompt is about this machine's ranks."""
    target = dataclasses.replace(pins.target(), device="cpu", what_if=None)
    task = conversation_start(target, Settings())[-1]["content"]
    assert "8 CPU ranks on " in task
    assert "gloo over loopback" in task


@pytest.mark.parametrize("stem", [KNOWN, OWN])
def test_task_of_a_checkout(stem: str, tmp_path: Path) -> None:
    """A task of a checkout has a prompt too, with what is known of it: at least its reference and arguments."""
    top = write_checkout(tmp_path / "checkout")
    settings = Settings(problems=ProblemSettings(pkb=str(top)))
    target = Opener(settings).target(stem)
    task = conversation_start(target, settings)[-1]["content"]
    assert (top / "reference" / f"{stem}.py").read_text().strip() in task
    assert all(f"- {name}: " in task for name in target.problem.arguments)


@pytest.mark.parametrize(
    ("target", "words"), [(1.3, "1.3 times the reference's speed: reached"), (1.32, "not reached")]
)
def test_target_is_held_against_the_lower_end(target: float, words: str) -> None:
    """A target that only the median reaches, 1.34 [1.31, 1.36], is told as not reached."""
    text = feedback_text(pins._right(), Collected(), Context("threshold", target), Templates())
    assert words in text
    assert "1.34" not in text
