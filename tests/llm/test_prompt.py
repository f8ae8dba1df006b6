"""The texts that a model is sent."""

from __future__ import annotations

import dataclasses
import platform
from pathlib import Path

import pytest

from problems.starter import BACKENDS, starter_text
from tests.checkout import KNOWN, OWN, write_checkout
from tests.llm import pins
from workbench.config import LimitSettings, LlmSettings, ProblemSettings, RunSettings, Settings
from workbench.errors import UsageError
from workbench.llm import prompt
from workbench.llm.devices import processors_of
from workbench.llm.feedback import Collected, Context, feedback_text
from workbench.llm.prompt import conversation_start
from workbench.llm.templates import Templates
from workbench.resolve import Opener
from workbench.target import SharedGpus
from workbench.topology.model import Topology

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
    assert "pkwb open" not in task, "advice to people is not for the model"
    assert "gloo over loopback" in task


def test_host_has_no_name_in_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider is not told what the user's machine is called."""
    monkeypatch.setattr(platform, "node", lambda: "alices-box")
    target = dataclasses.replace(pins.target(), device="cpu", what_if=None)
    task = conversation_start(target, Settings())[-1]["content"]
    assert "8 CPU ranks on this host" in task
    assert "alices-box" not in task


def test_links_that_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the GPUs' links cannot be found out the prompt says so and is made all the same."""

    def blind(world: int, device: str) -> Topology:
        raise UsageError("no driver")

    monkeypatch.setattr(prompt, "detect", blind)
    task = conversation_start(dataclasses.replace(pins.target(), what_if=None), Settings())[-1]["content"]
    assert "their links cannot be seen: no driver" in task


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (RunSettings(), "with caches full of other data. All that it launches is queued before"),
        (RunSettings(cache="warm"), "with caches as the call before left them"),
        (RunSettings(graph=True), "replays of the call as a CUDA graph"),
        (RunSettings(protocol="pkb"), "in series of 100 after 500 that do not count"),
    ],
)
def test_way_of_timing_is_told(run: RunSettings, words: str) -> None:
    """The model is told what counts in a call's time, as the run times it."""
    task = conversation_start(pins.target(), dataclasses.replace(pins.SETTINGS, run=run))[-1]["content"]
    assert words in task


def test_calls_that_are_not_timed() -> None:
    """Where ranks share a GPU the model is told that nothing is timed, and why."""
    target = dataclasses.replace(pins.target(), shared=SharedGpus(count=1, name="1 × H200"))
    task = conversation_start(target, pins.SETTINGS)[-1]["content"]
    assert f"Calls are not timed here: {target.not_timed}." in task
    assert "device events" not in task


def test_limit_of_a_call_is_told() -> None:
    """The model hears the limit that its calls really have."""
    settings = dataclasses.replace(pins.SETTINGS, limits=LimitSettings(run=45.0))
    assert "A call that takes 45 s is a hang" in conversation_start(pins.target(), settings)[0]["content"]


@pytest.mark.parametrize(
    ("model", "count", "shared_kb"),
    [("NVIDIA H100 PCIe", 114, 227), ("NVIDIA H100 80GB HBM3", 132, 227), ("NVIDIA A100-SXM4-40GB", 108, 163)],
)
def test_processors_by_model(model: str, count: int, shared_kb: int) -> None:
    """A card's own multiprocessors and shared memory are told, also where a model comes in kinds."""
    found = processors_of(model)
    assert found is not None
    assert (found.count, found.shared_kb) == (count, shared_kb)
    assert processors_of("a card of tomorrow") is None


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
