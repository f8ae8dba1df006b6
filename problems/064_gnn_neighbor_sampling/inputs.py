from __future__ import annotations

from typing import Any

import torch

_REACH = 24


def inputs(case: Any) -> dict[str, Any]:
    """Judged trials: a node's neighbours are nodes that follow it, in an order that its owner alone has right."""
    if case.stock:
        return {}
    nodes, pointer = case.size.num_nodes, case.drawn["local_adj_row_ptr"]
    keys = torch.empty(nodes, _REACH)
    for owner in range(case.world):
        keys[owner :: case.world] = case.uniform(f"nodes of {owner}", nodes // case.world, _REACH, dtype=torch.float32)
    neighbours = (torch.arange(nodes).unsqueeze(1) + 1 + keys.argsort(dim=1)) % nodes
    column = torch.zeros(16 * nodes, dtype=torch.int64)
    column[: int(pointer[-1])] = neighbours[torch.arange(_REACH) < pointer.diff().unsqueeze(1)]
    return {"local_adj_col": column}
