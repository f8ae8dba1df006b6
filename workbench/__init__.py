"""pkwb, a terminal workbench for multi-GPU kernels."""

__version__ = "0.1.0"
