from __future__ import annotations

from typing import Any


def inputs(case: Any) -> dict[str, Any]:
    """Whole numbers; in every fourth trial the odd ranks have none, in judged trials 2, 6, ... lengths differ a little.

    Published values lie in ranges that do not overlap and go down with the rank; judged ones lie anywhere.
    """
    length = 0 if case.trial % 4 == 3 and case.rank % 2 else case.size.n_loc
    if case.stock:
        values = case.integers("values", -50, 50, length).to(case.dtype) - case.rank * max(1, length)
    else:
        length -= case.rank % 3 if case.trial % 4 == 2 else 0
        values = case.integers("values", -50000, 50000, length).to(case.dtype)
    return {"local_shard": values}
