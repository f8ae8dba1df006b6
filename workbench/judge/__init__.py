"""Judging: statistics, bandwidth, verdicts; pure functions, no Textual, no torch."""
