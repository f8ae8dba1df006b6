"""A miniature ParallelKernelBench checkout, written from scratch: the same layout, two tasks, a generator."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

KNOWN = "13_gemm_allreduce"
OWN = "900_grouped_scale"

_FILES = {
    f"reference/{KNOWN}.py": """
        import torch
        import torch.distributed as dist


        def solution(A_local, B_local):
            total = A_local @ B_local
            dist.all_reduce(total)
            return total
        """,
    f"reference/{OWN}.py": """
        import torch
        import torch.distributed as dist


        def solution(layer, parts, counts, pair=None, scale=1.0):
            for part in parts:
                part.mul_(scale)
            total = layer(torch.cat(parts)).detach().contiguous()
            dist.all_reduce(total, group=pair)
            return {"total": total, "counts": counts + dist.get_rank()}
        """,
    "utils/__init__.py": "",
    "utils/rows.py": """
        def rows_of(shape):
            return max(4, shape[0] // 8)
        """,
    "utils/input_output_tensors.py": """
        import torch
        import torch.distributed as dist

        from utils.rows import rows_of


        def create_input_tensor(rank, world_size, problem_id, shape, dtype, trial=0, device=None):
            torch.manual_seed(1000 * problem_id + rank + 77 * trial)
            m, n = shape
            if problem_id == 13:
                return (
                    torch.randn(m, 512, dtype=dtype, device=device),
                    torch.randn(512, n, dtype=dtype, device=device),
                )
            pairs = [dist.new_group([first, first + 1]) for first in range(0, world_size, 2)]
            layer = torch.nn.Linear(n, n).to(device=device, dtype=dtype)
            parts = [torch.randn(rows_of(shape), n, dtype=dtype, device=device) for _ in range(2)]
            counts = torch.arange(4, device=device)
            return layer, parts, counts, pairs[rank // 2], 0.5
        """,
    f"solutions_pytorch/{KNOWN}_pytorch.py": """
        import torch
        import torch.distributed as dist


        def solution(A_local, B_local):
            total = torch.mm(A_local, B_local)
            dist.all_reduce(total)
            return total.float()
        """,
    f"solutions_pytorch/{OWN}_pytorch.py": """
        import torch
        import torch.distributed as dist


        def solution(layer, parts, counts, pair=None, scale=1.0):
            assert isinstance(layer, torch.nn.Linear) and isinstance(parts, list)
            total = torch.nn.functional.linear(torch.cat(parts) * scale, layer.weight, layer.bias).detach()
            dist.all_reduce(total, group=pair)
            return {"total": total, "counts": counts + dist.get_rank()}
        """,
}


def write_checkout(folder: Path) -> Path:
    """Write the checkout into a folder and return its top."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip())
    return folder
