"""Events as JSON."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from workbench.events.base import Event
from workbench.events.verdict import Verdict


def event_name(kind: type[Event]) -> str:
    """The name in JSON: ``RankVerdict`` -> ``rank_verdict``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def to_dict(event: Event) -> dict[str, Any]:
    """An event as plain data, its name first; a verdict also has its two median times together, as ``time_ms``."""
    data = {"event": event_name(type(event)), **dataclasses.asdict(event)}
    if isinstance(event, Verdict):
        sides = {"candidate": event.candidate_ms, "reference": event.reference_ms}
        data["time_ms"] = {side: spread.median if spread else None for side, spread in sides.items()}
    return data


def to_json(event: Event) -> str:
    """One line of JSON; NaN and infinity become null, since JSON has neither."""
    try:
        return json.dumps(to_dict(event), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(to_dict(event)), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if abs(value) != float("inf") and value == value else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value
