"""What keeps a request from being built at all, in words that say what to do."""

from __future__ import annotations

from workbench.build.model import Request, Toolchain


def obstacle(request: Request, toolchain: Toolchain) -> str:
    """Why nothing can be built from this request here; empty when it can."""
    if not toolchain.torch_root:
        return f"{toolchain.python} has no torch: install it there, or set ranks.python to an interpreter that has it"
    if not toolchain.cxx:
        return "no C++ compiler was found: install g++, or set CXX to one"
    return cuda_obstacle(toolchain) if request.cuda else ""


def cuda_obstacle(toolchain: Toolchain) -> str:
    """Why no CUDA text can be compiled here; empty when it can."""
    if not toolchain.nvcc:
        return "nvcc was not found: install the CUDA toolkit, or set CUDA_HOME to where it is"
    if not toolchain.nvcc_version:
        return f"{toolchain.nvcc} does not answer: check the CUDA toolkit, or set CUDA_HOME to another"
    release = ".".join(toolchain.nvcc_version.split(".")[:2])
    if toolchain.torch_cuda and _major(release) != _major(toolchain.torch_cuda):
        found = f"{toolchain.nvcc} is of CUDA {release}, the ranks' torch of CUDA {toolchain.torch_cuda}"
        return f"{found}: set CUDA_HOME to a CUDA {toolchain.torch_cuda} toolkit"
    return ""


def _major(release: str) -> str:
    return release.partition(".")[0]
