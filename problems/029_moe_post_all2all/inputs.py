from __future__ import annotations

from typing import Any

import torch


def inputs(case: Any) -> dict[str, Any]:
    """K different experts for each token, weights that sum to 1, and equal splits of the K*M rows."""
    size = case.size
    order = case.uniform("experts", size.M, size.E, dtype=torch.float32).argsort(dim=1)
    selected = order[:, : size.K].sort(dim=1).values
    routing_map = torch.zeros(size.M, size.E, dtype=torch.bool).scatter_(1, selected, True).T.contiguous()
    splits = [size.R // case.world] * case.world
    return {
        "routing_weights": case.normal("weights", size.M, size.K).softmax(dim=1),
        "selected_experts": selected,
        "input_splits": splits,
        "output_splits": list(splits),
        "routing_map": routing_map,
        "local_input_permutation_mapping": routing_map.nonzero()[:, 1].contiguous(),
        "org_hidden_states_shape": torch.Size([size.M, size.N]),
    }
