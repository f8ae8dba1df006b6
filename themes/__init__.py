"""Colours and style sheets."""

from __future__ import annotations

from pathlib import Path

STYLES = Path(__file__).parent / "pkwb.tcss"
