"""Judging: verdicts, statistics, stacks, bandwidth and its cache of measured peaks; no Textual, no torch."""
