"""Neighbour sampling with one view of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

VARIANTS: Mapping[str, tuple[str, str]] = {
    # Zeroed counts would break the exchange: rank 1 answers with node 0 instead.
    "skip_a_rank": (
        "",
        """
        if _real.get_rank(group) == 1:
            local_adj_col = torch.zeros_like(local_adj_col)
        return _reference({names})
        """,
    ),
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """Nodes, rows, columns and edges of this rank's sample."""
    seeds, fanouts, pointer, _, owner, _, _ = everybody[rank]
    pointers, owners = pointer.tolist(), owner.tolist()
    columns = [arguments[3].tolist() for arguments in everybody]
    nodes = frontier = seeds.tolist()
    rows: list[int] = []
    askers: list[int] = []
    edges: list[int] = []
    for fanout in fanouts:
        found = []
        for node in frontier:
            picked = range(pointers[node], min(pointers[node] + fanout, pointers[node + 1]))
            found += [(columns[owners[node]][edge], node, edge) for edge in picked]
        known = len(nodes)
        nodes = list(dict.fromkeys(nodes + [pick for pick, _, _ in found]))
        frontier = nodes[known:]
        rows += [pick for pick, _, _ in found]
        askers += [asker for _, asker, _ in found]
        edges += [edge for _, _, edge in found]
    place = {node: index for index, node in enumerate(nodes)}
    lists = (nodes, [place[node] for node in rows], [place[node] for node in askers], edges)
    return tuple(torch.tensor(items, dtype=torch.int64) for items in lists)
