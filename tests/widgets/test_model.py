"""The model pane in the whole app: a reply streams, its code is a proposal, and nothing is taken unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.widgets.model_script import CODE, MODEL, finished, scripted
from tests.widgets.model_stage import LLM, ask, diff, go, said
from tests.widgets.script import REFERENCE
from tests.widgets.stage import stage
from workbench.config import LlmSettings
from workbench.events import Diagnostic


async def test_first_look(tmp_path: Path) -> None:
    """Opening the pane starts the process that asks models, and says what to do."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        assert not made
        await go(place)
        await place.until(lambda: made and made[0].warmed)
        await place.until(lambda: f"{MODEL} · ready" in said(place))

        assert "p asks for a proposal" in said(place)
    assert made[0].closed


async def test_no_model(tmp_path: Path) -> None:
    """Without a model the pane says how to name one."""
    async with stage(tmp_path) as place:
        await go(place)
        await place.until(lambda: "give --model PROVIDER/MODEL" in said(place))


async def test_reply_streams(tmp_path: Path) -> None:
    """What has come of a reply is on screen while more is on its way; the text in the editor stays."""
    _, make = scripted(finished(), hold=True)
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await go(place, "p")
        await place.until(lambda: "Here it is." in said(place))
        assert "c cancels" in said(place)
        await place.pilot.press("c")
        await place.until(lambda: "■ cancelled" in said(place))

        assert place.app.editor_pane.editor.text == REFERENCE


async def test_what_was_sent(tmp_path: Path) -> None:
    """What the model was told is folded, and one key shows it."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        assert "▸ sent" in said(place)
        await place.pilot.press("s")
        await place.until(lambda: "▾ sent" in said(place))

        assert "def solution(tensor" in said(place)
        assert made[0].asked[0][0]["role"] == "system"
        assert "1 000 + 500 tokens · $0.0125" in said(place)


async def test_try_and_accept(tmp_path: Path) -> None:
    """A proposal is judged without touching the text; accepting puts it into the editor, one undo takes it back."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await place.until(lambda: place.runner.given)
        place.runner.end()
        await ask(place)
        await place.pilot.press("t")
        await place.until(lambda: len(place.runner.given) == 2)
        source, origin = place.runner.given[1]
        assert (source.text, origin) == (CODE, "model")
        await place.until(lambda: "being judged as #2" in said(place))
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: "✗ wrong: rank 1 is off (#2)" in said(place))
        assert place.app.editor_pane.editor.text == REFERENCE

        await place.pilot.press("a")
        await place.until(lambda: place.app.editor_pane.editor.text == CODE)
        assert place.app.editor_pane.dirty
        assert place.path.read_text() == REFERENCE
        await place.pilot.press("ctrl+z")
        assert place.app.editor_pane.editor.text == REFERENCE


async def test_verdict_is_told(tmp_path: Path) -> None:
    """The next request tells the model what became of its proposal, and the user's remark."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        await place.pilot.press("t")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: "✗ wrong" in said(place))
        await place.pilot.press("m", *"use")
        await place.pilot.press("space", *"fewer", "enter")
        await place.until(lambda: len(made[0].asked) == 2)

        told = made[0].asked[1][-1]["content"]
        assert "rank 1 is off" in told
        assert "A remark of the user: use fewer" in told


async def test_changed_file_is_told(tmp_path: Path) -> None:
    """A model that is asked again gets the user's text where that is not what it knows."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        place.app.editor_pane.editor.text = "def solution(tensor):\n    return mine(tensor)\n"
        await ask(place)

        assert "return mine(tensor)" in made[0].asked[1][-1]["content"]


async def test_hunk_by_hunk(tmp_path: Path) -> None:
    """Of several changes those are taken that the user says yes to."""
    code = "# first\n" + CODE
    _, make = scripted(finished(code=code))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await diff(place)
        await place.pilot.press("h", "y", "n")
        await place.until(lambda: place.app.editor_pane.editor.text == "# first\n" + REFERENCE)

        assert place.app.view.talk.exchanges[0].decision == "accepted in part"
        await place.pilot.press("ctrl+z")
        assert place.app.editor_pane.editor.text == REFERENCE


async def test_edit_before_accepting(tmp_path: Path) -> None:
    """A proposal can be edited beside the text, and is then accepted as it was edited."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await place.pilot.press("e")
        await place.until(lambda: place.app.screen.query("#proposal-editor"))
        await place.pilot.press(*"# mine", "enter", "escape")
        await place.until(lambda: not place.app.screen.query("#proposal-editor"))
        assert place.app.editor_pane.editor.text == REFERENCE
        await place.pilot.press("a")

        await place.until(lambda: place.app.editor_pane.editor.text == f"# mine\n{CODE}")


async def test_reject(tmp_path: Path) -> None:
    """A rejected proposal leaves the text alone, and the model is told."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await diff(place)
        await place.pilot.press("x")
        await place.until(lambda: "rejected" in said(place))
        assert place.app.editor_pane.editor.text == REFERENCE
        await ask(place)

        assert "The user rejected your proposal 1" in made[0].asked[1][-1]["content"]


@pytest.mark.parametrize(
    ("came", "words"),
    [
        (
            finished(code="", outcome="error", trouble="key", reason="the key was refused: set X"),
            "no reply: the key was",
        ),
        (finished(code="", outcome="no-code", reason="no block of code"), "no code: no block of code"),
        (finished(code="", outcome="cut-off", reason="it was cut off"), "cut off: it was cut off"),
    ],
)
async def test_no_proposal_comes(tmp_path: Path, came: Any, words: str) -> None:
    """Trouble with the reply is said in the pane, and the next request can be made at once."""
    _, make = scripted(came, finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        assert words in said(place)
        await ask(place)

        assert "a file of" in said(place)


async def test_budget_stops(tmp_path: Path) -> None:
    """When the budget is spent no request is made, and the pane says which setting to raise."""
    made, make = scripted(finished(cost_usd=1.0))
    async with stage(tmp_path, client=make, llm=LlmSettings(model=MODEL, budget_usd=1.0)) as place:
        await ask(place)
        await place.pilot.press("p")
        await place.until(lambda: "raise llm.budget_usd" in said(place))

        assert len(made[0].asked) == 1


async def test_agent_loop(tmp_path: Path) -> None:
    """The agent loop proposes and judges by itself, can be paused and stopped, and its proposals stay."""
    made, make = scripted(finished(), finished(code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await go(place, "L")
        await place.until(lambda: len(place.runner.given) == 2)
        await place.pilot.press("space")
        await place.until(lambda: "agent loop paused" in said(place))
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: place.app.view.talk.step is not None)
        assert len(made[0].asked) == 1
        await place.pilot.press("space")
        await place.until(lambda: len(place.runner.given) == 3)
        assert "rank 1 is off" in made[0].asked[1][-1]["content"]
        await place.pilot.press("L")
        await place.until(lambda: "agent loop ended by stopped" in said(place))

        assert not place.app.desk.model.busy
        assert place.app.editor_pane.editor.text == REFERENCE


async def test_agent_loop_goes_on(tmp_path: Path) -> None:
    """A loop that was stopped goes on where it was: the proposal that it had made is judged then."""
    made, make = scripted(finished(), finished(code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await go(place, "L")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: len(place.runner.given) == 3)
        await place.pilot.press("L")
        await place.until(lambda: "ended by stopped" in said(place))
        await place.pilot.press("m", *"ring", "enter")
        await place.until(lambda: len(made[0].asked) == 3)
        place.runner.end()
        await place.until(lambda: not place.app.desk.model.busy)
        await place.pilot.press("L")
        await place.until(lambda: len(place.runner.given) == 4)

        assert place.runner.given[3][0].text == CODE + "# again\n"


async def test_steered(tmp_path: Path) -> None:
    """A remark while the loop runs goes with its next request."""
    made, make = scripted(finished(), finished(code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await go(place, "L")
        await place.until(lambda: len(place.runner.given) == 2)
        await place.pilot.press("m", *"ring", "enter")
        await place.until(lambda: "told with the next request" in place.messages())
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: len(made[0].asked) == 2)

        assert "A remark of the user: ring" in made[0].asked[1][-1]["content"]


async def test_text_that_changed_meanwhile(tmp_path: Path) -> None:
    """Text that another program wrote while the proposal was looked at is not replaced by it."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await diff(place)
        place.path.write_text("def solution(tensor):\n    return other(tensor)\n")
        await place.until(lambda: "other(tensor)" in place.app.editor_pane.editor.text)
        await place.pilot.press("a")
        await place.until(lambda: "your text has changed meanwhile" in said(place))

        assert "other(tensor)" in place.app.editor_pane.editor.text


async def test_again_from_the_proposal(tmp_path: Path) -> None:
    """A remark on the proposal that is looked at asks for another one."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await diff(place)
        await place.pilot.press("m", *"a ring", "enter")
        await place.until(lambda: len(made[0].asked) == 2)

        assert "A remark of the user: a ring" in made[0].asked[1][-1]["content"]


async def test_cancelled_from_anywhere(tmp_path: Path) -> None:
    """The key that cancels a run cancels a reply where nothing runs; text is typed meanwhile."""
    _, make = scripted(finished(), hold=True)
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await go(place, "p")
        await place.until(lambda: "Here it is." in said(place))
        await place.pilot.press("4", *"abc")
        assert place.app.editor_pane.editor.text.startswith("abc")
        await place.pilot.press("f3")
        await place.until(lambda: "■ cancelled" in said(place))


async def test_quit_asks(tmp_path: Path) -> None:
    """Leaving while a reply comes is asked about, and ends the request."""
    made, make = scripted(finished(), hold=True)
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await go(place, "p")
        await place.until(lambda: "Here it is." in said(place))
        await place.pilot.press("ctrl+q", "y")
        await place.until(lambda: made[0].closed)


async def test_new_conversation(tmp_path: Path) -> None:
    """A new conversation begins without what was said before; what was spent stays."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await place.pilot.press("R")
        await place.until(lambda: "p asks for a proposal" in said(place))
        assert "$0.0125" in said(place)
        await ask(place)

        assert len(made[0].asked[1]) == len(made[0].asked[0])


async def test_small_terminal(tmp_path: Path) -> None:
    """At 80x24 the pane has the screen, and the diff is in one column."""
    _, make = scripted(finished())
    async with stage(tmp_path, size=(80, 24), client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        assert "a file of" in said(place)
        await diff(place)
        await place.pilot.press("h", "y")
        await place.until(lambda: place.app.editor_pane.editor.text == CODE)


async def test_marks_are_of_the_file(tmp_path: Path) -> None:
    """Errors of a proposal that is tried mark no line of the text in the editor, which is another."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        await place.pilot.press("t")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.emit(Diagnostic(attempt=2, severity="error", message="no", path=str(place.path), line=3, column=1))
        place.runner.end("load-error", "no")
        await place.until(lambda: "✗ load-error" in said(place))
        await place.pilot.pause()

        assert not place.app.editor_pane.editor.marks
