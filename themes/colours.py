"""The colour themes: dark, light, and the terminal's own sixteen colours (Textual's ansi-dark and ansi-light)."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="pkwb-dark",
    primary="#6cb0f5",
    secondary="#74c7b8",
    accent="#e0af68",
    success="#86c877",
    warning="#e6b455",
    error="#f2777a",
    foreground="#d3dae3",
    background="#10141a",
    surface="#10141a",
    panel="#1b222c",
    dark=True,
    variables={"border-blurred": "#364150", "footer-key-foreground": "#6cb0f5", "block-cursor-text-style": "none"},
)
LIGHT = Theme(
    name="pkwb-light",
    primary="#0b5cad",
    secondary="#0d6e63",
    accent="#8a5300",
    success="#2c6e1f",
    warning="#8a5a00",
    error="#b3202c",
    foreground="#1f2730",
    background="#fbfbf9",
    surface="#fbfbf9",
    panel="#eceef0",
    dark=False,
    variables={"border-blurred": "#b6bec7", "footer-key-foreground": "#0b5cad", "block-cursor-text-style": "none"},
)
OWN = (DARK, LIGHT)
