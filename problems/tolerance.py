"""The tolerance that a problem has unless its ``[tolerance]`` table says otherwise.

The figures leave honest variants (float32 partials, another reduction order, up to 8 ranks) a factor of two or more,
and stay a factor of ten or more below what zeros, a missing rank or another rank's result are off by. In float32 they
reject values that passed through float16 or TF32.
"""

from __future__ import annotations

from collections.abc import Mapping

from problems.model import Tolerance

ITEMSIZES: Mapping[str, int] = {"bfloat16": 2, "float16": 2, "float32": 4, "float64": 8}
"""Bytes an element of every dtype that a run may have."""
_RMS = {"bfloat16": 6e-2, "float16": 8e-3, "float32": 2e-5, "float64": 1e-12}
_REL = {"bfloat16": 1.6e-2, "float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def tolerance(rms: Mapping[str, float], rel: Mapping[str, float]) -> Tolerance:
    """The default tolerance with a problem's own figures (by dtype name) put over it."""
    return Tolerance(rms={**_RMS, **rms}, rel={**_REL, **rel})
