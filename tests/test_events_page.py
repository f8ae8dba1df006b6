"""docs/events.md, which programs that read the JSON rely on."""

from __future__ import annotations

import dataclasses
import re

import pytest

from tests.program import ROOT
from workbench import events

PAGE = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
NAMED = {part for words in re.findall(r"`([^`]+)`", PAGE) for part in re.split(r"[.\s]", words)}
IN_A_VERDICT = (
    events.Verdict, events.RankSummary, events.Ratio, events.Spread, events.LaunchTime, events.BuildSummary,
    events.Bandwidth, events.RankBandwidth, events.Floor, events.Profile, events.RankProfile, events.Ran,
)  # fmt: skip


@pytest.mark.parametrize("kind", IN_A_VERDICT)
def test_every_field_of_a_verdict_is_explained(kind: type) -> None:
    """The page names each field of the verdict, also those of its parts."""
    assert {field.name for field in dataclasses.fields(kind)} - NAMED == set()


def test_every_event_is_named() -> None:
    """The page names each kind of event as it is called in JSON."""
    assert {events.event_name(kind) for kind in events.Event.__subclasses__()} - NAMED == set()


def test_no_field_is_made_up() -> None:
    """What the tables of the page name as a field of the verdict is one."""
    known = {field.name for kind in IN_A_VERDICT for field in dataclasses.fields(kind)} | {"time_ms"}
    rows = PAGE.partition("## Before it")[0].splitlines()
    first = [name for row in rows if row.startswith("| `") for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert {part for name in first for part in name.split(".")} <= known
