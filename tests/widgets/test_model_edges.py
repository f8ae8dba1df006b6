"""The model pane where things cross: keys pressed twice, other problems, edited proposals, replies that do harm."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Static

from tests.widgets.host import flowing
from tests.widgets.model_script import CODE, MODEL, finished, scripted
from tests.widgets.model_stage import LLM, another, ask, diff, go, pane, said
from tests.widgets.script import REFERENCE
from tests.widgets.stage import Stage, dialog, stage
from widgets.messages import ModelAsked
from widgets.screens.proposal import ProposalScreen
from widgets.screens.unified import UnifiedDiff
from workbench.config import LlmSettings


async def test_another_problem_keeps_the_process(tmp_path: Path) -> None:
    """Another problem goes on with the process that asks models and with the budget, in a new conversation."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        await another(place)
        await go(place)
        await place.until(lambda: f"{MODEL} · ready" in said(place))
        assert "p asks for a proposal" in said(place)
        await ask(place)

        assert "── #1" in said(place)
        assert "$0.0250" in said(place)
        assert not made[0].closed
    assert len(made) == 1
    assert made[0].closed


async def test_keys_go_to_the_panes_of_another_problem(tmp_path: Path) -> None:
    """With one pane on the whole screen another problem is opened, and the keys of its panes work at once."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await place.pilot.press("f5")
        await another(place)
        await place.pilot.press("ctrl+o")
        await dialog(place)
        await place.pilot.press("0", "p")
        await place.until(lambda: made and made[0].asked)


async def test_another_problem_while_a_trial_waits(tmp_path: Path) -> None:
    """A trial that waits for an attempt does not begin any more when another problem has been opened."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await place.pilot.press("t")
        await place.until(lambda: "judged when the attempt that runs is over" in place.messages())
        first = place.runner
        await another(place)
        first.end()
        await place.pilot.pause(0.1)

        assert len(first.given) == 1


async def test_trial_is_cancelled(tmp_path: Path) -> None:
    """c ends a trial that runs, and one that waits for the user's own attempt, which goes on."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await place.pilot.press("t")
        await place.until(lambda: "judged when the attempt that runs is over" in place.messages())
        await place.pilot.press("c")
        await place.pilot.pause()
        assert place.runner.running == 1
        place.runner.end()
        await place.pilot.press("t")
        await place.until(lambda: "being judged as #2" in said(place))
        await place.pilot.press("c")
        await place.until(lambda: "cancelled" in said(place))

        assert place.runner.running == 0
        assert len(place.runner.given) == 2


async def test_trials_in_turn(tmp_path: Path) -> None:
    """Two proposals that wait for the same attempt are judged one after the other; neither supersedes the other."""
    _, make = scripted(finished(), finished(code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await ask(place)
        await place.pilot.press("t", "left_square_bracket", "t")
        await place.until(lambda: place.messages().count("judged when the attempt that runs is over") == 2)
        place.runner.end()
        await place.until(lambda: len(place.runner.given) == 2)
        await place.pilot.pause(0.1)
        assert len(place.runner.given) == 2
        place.runner.end()
        await place.until(lambda: len(place.runner.given) == 3)


async def test_remark_while_a_reply_comes(tmp_path: Path) -> None:
    """A remark that is made while a reply is on its way is not lost: it goes with the next request."""
    made, make = scripted(finished(), hold=True)
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await go(place, "p")
        await place.until(lambda: "Here it is." in said(place))
        await place.pilot.press("m", *"ring", "enter")
        await place.until(lambda: "told with the next request" in place.messages())
        await place.pilot.press("c")
        await place.until(lambda: "■ cancelled" in said(place))
        await place.pilot.press("p")
        await place.until(lambda: len(made[0].asked) == 2)

        assert "A remark of the user: ring" in made[0].asked[1][-1]["content"]


async def test_key_that_is_pressed_twice(tmp_path: Path) -> None:
    """The key for the proposal beside the text, pressed twice, opens it once; so does that for the agent loop."""
    made, make = scripted(finished(), finished(code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        for _ in range(2):
            pane(place).action_ask("diff")
        await place.until(lambda: isinstance(place.app.screen, ProposalScreen))
        await place.pilot.pause()
        assert len(place.app.screen_stack) == 2
        await place.pilot.press("escape")
        for _ in range(2):
            pane(place).action_ask("agent")
        await place.until(lambda: not place.app.desk.model.busy)
        await place.pilot.pause(0.1)

        assert len(made[0].asked) == 1


async def test_agent_loop_is_paused_while_it_begins(tmp_path: Path) -> None:
    """A pause and a remark that come before the loop's first request hold for it."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await go(place)
        pane(place).action_ask("agent")
        pane(place).action_ask("pause")
        pane(place).post_message(ModelAsked("remark", "ring"))
        await place.until(lambda: "agent loop paused" in said(place))
        await place.pilot.pause(0.1)
        assert not made[0].asked
        await place.pilot.press("space")
        await place.until(lambda: made[0].asked)

        assert "A remark of the user: ring" in made[0].asked[0][-1]["content"]


async def test_agent_loop_that_goes_on_shares_the_budget(tmp_path: Path) -> None:
    """What was asked beside the loop counts when the loop goes on: the budget is one."""
    made, make = scripted(finished(cost_usd=0.25), finished(cost_usd=0.25, code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LlmSettings(model=MODEL, budget_usd=1.0)) as place:
        place.runner.end()
        await go(place, "L")
        await place.until(lambda: len(place.runner.given) == 2)
        await place.pilot.press("L")
        await place.until(lambda: "ended by stopped" in said(place))
        await ask(place)
        await place.pilot.press("L")
        await place.until(lambda: len(place.runner.given) == 3)
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: len(made[0].left) == 3)

        assert made[0].left == [1.0, 0.75, 0.5]


def attempts(place: Stage) -> list[tuple[str, str, str]]:
    """Text, model and note of what is kept, the oldest first; nothing where the store is not open yet."""
    store = place.app.desk.runs._store
    found = store.attempts(place.app.target.problem.stem) if store is not None else []
    return [(store.source(one.digest), one.model if one.proposal else "", one.note) for one in reversed(found)]


async def test_edited_proposal_is_kept_with_its_model(tmp_path: Path) -> None:
    """What the user made of a proposal is kept with the model's name and as edited, tried or saved; so it is shown."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        await place.pilot.press("e")
        await place.until(lambda: place.app.screen.query("#proposal-editor"))
        await place.pilot.press("#", "enter", "escape")
        await place.until(lambda: not place.app.screen.query("#proposal-editor"))
        await place.pilot.press("t")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: len(attempts(place)) == 2)
        await place.pilot.press("a")
        await place.until(lambda: place.text == f"#\n{CODE}")
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 3)
        place.runner.end()
        await place.until(lambda: len(attempts(place)) == 3)

        assert attempts(place)[1:] == [(f"#\n{CODE}", MODEL, "edited")] * 2
        assert "not tried · edited by you: ✗ wrong: rank 1 is off (#2) · edited and accepted" in said(place)


async def test_accepted_proposal_is_kept_with_its_model(tmp_path: Path) -> None:
    """A proposal that is accepted and saved is kept with its model; so is one of the agent loop that is tried."""
    _, make = scripted(finished(), finished(code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        await place.pilot.press("a")
        await place.until(lambda: place.text == CODE)
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end()
        await go(place, "L")
        await place.until(lambda: len(place.runner.given) == 3)
        await place.pilot.press("L")
        await place.until(lambda: "ended by stopped" in said(place))
        await place.pilot.press("t")
        await place.until(lambda: len(place.runner.given) == 4)
        place.runner.end()
        await place.until(lambda: len(attempts(place)) == 4)

        again = CODE + "# again\n"
        assert attempts(place)[1:] == [(CODE, MODEL, ""), (again, MODEL, ""), (again, MODEL, "")]


async def test_loop_of_a_model_without_a_price(tmp_path: Path) -> None:
    """Where no price is known the end of the agent loop claims no cost, nor a best proposal where none was right."""
    _, make = scripted(finished(cost_usd=None), priced=False)
    async with stage(tmp_path, client=make, llm=LlmSettings(model=MODEL, steps=1)) as place:
        place.runner.end()
        await go(place, "L")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: "ended by steps: 1 proposal made; price not known" in said(place))
        await place.until(lambda: "the agent loop ended" in place.messages())

        assert "d shows its best proposal" not in place.messages()


async def test_verdict_of_the_own_file_is_told(tmp_path: Path) -> None:
    """A request tells what became of the user's own file, where it is still as it was judged."""
    made, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        place.write("# mine")
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end("wrong", "rank 1 is off")
        await ask(place)
        assert "rank 1 is off" in made[0].asked[0][-1]["content"]
        place.write(", changed")
        await ask(place)

        assert "# mine, changed" in made[0].asked[1][-1]["content"]
        assert "rank 1 is off" not in made[0].asked[1][-1]["content"]


async def test_windows_line_ends(tmp_path: Path) -> None:
    """In a file with CRLF a proposal is accepted with CRLF; tried from the diff it is the proposal, not an edit."""
    _, make = scripted(finished())
    async with stage(tmp_path, client=make, llm=LLM, text=REFERENCE.replace("\n", "\r\n")) as place:
        place.runner.end()
        await ask(place)
        await diff(place)
        await place.pilot.press("t")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end("wrong", "rank 1 is off")
        await place.until(lambda: "✗ wrong: rank 1 is off (#2)" in said(place))
        head = place.app.screen.query_one("#proposal-head", Static)
        await place.until(lambda: "rank 1 is off" in str(head.content))
        await place.pilot.press("a")
        await place.until(lambda: place.text == CODE.replace("\n", "\r\n"))

        assert place.app.view.talk.exchanges[0].decision == "accepted"
        await place.until(lambda: len(attempts(place)) == 2)
        assert attempts(place)[1] == (CODE, MODEL, "")


async def test_reply_while_a_proposal_is_looked_at(tmp_path: Path) -> None:
    """Another proposal that comes meanwhile does not take the place of the one that is looked at and tried."""
    _, make = scripted(finished(), finished(code=CODE + "# again\n"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        place.runner.end()
        await ask(place)
        await diff(place)
        place.app.on_model_asked(ModelAsked("propose"))
        await place.until(lambda: place.app.view.talk.chosen == 2)
        await place.pilot.press("t")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end()
        await place.until(lambda: len(attempts(place)) == 2)

        assert attempts(place)[1] == (CODE, MODEL, "")


async def test_proposal_that_the_editor_holds_already(tmp_path: Path) -> None:
    """Code that equals the text in the editor is said to; accepting it changes nothing."""
    _, make = scripted(finished(code=REFERENCE))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        await place.pilot.press("d")
        await place.until(lambda: place.app.screen.query("#proposal-same"))
        await place.pilot.press("a")
        await place.until(lambda: "is what the editor holds already" in place.messages())

        assert not place.app.editor_pane.dirty


async def test_escape_sequences_in_a_reply(tmp_path: Path) -> None:
    """A reply that holds escape sequences is shown with signs in their place, in the pane and beside the text."""
    _, make = scripted(finished(code=f"# \x1b]52;c;eA==\x07\x1b[2J\n{CODE}"))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        screen = await diff(place)
        shown = [str(part.content) for part in screen.query(Static)] + [flowing(pane(place))]
        lines = "".join(segment.text for row in place.app.screen._compositor.render_strips() for segment in row)

        assert not any("\x1b" in text or "\x07" in text for text in (*shown, lines))
        assert "␛]52;c;eA==␇␛[2J" in lines


async def test_long_proposal(tmp_path: Path) -> None:
    """A proposal of thousands of lines is shown in one column, with what changed."""
    _, make = scripted(finished(code=CODE + "# more\n" * 3000))
    async with stage(tmp_path, client=make, llm=LLM) as place:
        await ask(place)
        screen = await diff(place)

        assert screen.query(UnifiedDiff)
