"""Benchmarks: ``python -m benchmarks.NAME [--json]``; each prints medians, and ratios to its targets."""
