"""Two clocks compared: what ranks claim that their calls took, and how long their judges waited for them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

SHORTEST_CALL_NS = 300
"""No call of a Python function that makes a tensor takes less."""
FEW_RESULTS = 5
"""Of fewer results that were fetched nothing is concluded: each may have waited for a core."""
_DISAGREEMENT = 0.25
_LEAST_OVERHEAD_NS = 200_000


def claims_too_little(
    claimed_ns: float, waited_ns: Sequence[int], usual_ns: Sequence[int], hidden_ns: float = 0
) -> bool:
    """Whether a claim is far below what the judge's own clock around the candidate's steps leaves room for.

    ``usual_ns`` is what the same steps of the reference took beyond its own calls: messages, new values, alignment,
    copies. It is doubled for safety. ``hidden_ns`` more is explained by what does not count as the call's time. The
    shortest tenth of the waits decides: work takes its time in every call, while on a busy machine most calls may
    wait for a core longer than they take. Without waits to compare nothing is too little.
    """
    if not waited_ns or not usual_ns:
        return False
    unexplained = shortest_tenth(waited_ns) - 2 * max(median(usual_ns), _LEAST_OVERHEAD_NS) - hidden_ns
    return unexplained > 0 and claimed_ns < _DISAGREEMENT * unexplained


def results_too_late(claimed_ns: float, waited_ns: Sequence[int], usual_ns: Sequence[int]) -> bool:
    """Whether the candidate's results took so long to fetch, beside the reference's, that calls left work for then."""
    return len(waited_ns) >= FEW_RESULTS and claims_too_little(claimed_ns, waited_ns, usual_ns)


def shortest_tenth(values: Sequence[int]) -> int:
    """The value that a tenth of at least one value lies below."""
    return sorted(values)[len(values) // 10]
