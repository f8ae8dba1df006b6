"""Numbers as people read them: three significant digits, one unit each, the same everywhere."""

from __future__ import annotations

import math
import time

from workbench.events import Ratio, Spread

_TIMES = ((1e3, 1e-3, "s"), (1.0, 1.0, "ms"), (0.0, 1e3, "us"))
_DECIMAL = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_BINARY = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def figure(value: float) -> str:
    """Three significant digits, without an exponent where a person would not write one: 0.213, 2.13, 213, 2130."""
    if value == 0:
        return "0"
    if not 1e-5 < abs(value) < 1e9:
        return f"{value:.3g}"
    digits = 2 - math.floor(math.log10(abs(float(f"{value:.3g}"))))
    return f"{value:.{max(0, digits)}f}"


def duration(ms: float) -> str:
    """Milliseconds in the unit that suits them: ``213 us``, ``2.13 ms``, ``2.13 s``."""
    for least, factor, unit in _TIMES:
        if abs(ms) >= least:
            return f"{figure(ms * factor)} {unit}"
    return f"{ms} ms"


def brief(ms: float) -> str:
    """Milliseconds where two digits are enough: ``2 ms``, ``0.4 ms``, ``<0.1 ms``, ``2.1 s``."""
    if ms >= 1e3:
        return f"{ms / 1e3:.1f} s" if ms < 1e5 else f"{ms / 1e3:.0f} s"
    if ms < 0.05:
        return "<0.1 ms"
    return f"{ms:.0f} ms" if ms >= 9.95 else f"{ms:.1f} ms".replace(".0 ", " ")


def millis(ms: float) -> str:
    """Milliseconds as a bare number, for a column that says ms."""
    return figure(ms)


def moved(count: float) -> str:
    """Bytes on a link, decimal as in GB/s: ``2.10 MB``."""
    return _scaled(count, _DECIMAL, "B")


def memory(count: float) -> str:
    """Bytes of memory: ``2.00 MiB``."""
    return _scaled(count, _BINARY, "B")


def operations(count: float) -> str:
    """A number of operations: ``2.15 G``."""
    return _scaled(count, _COUNTS, "").rstrip()


def bandwidth(gbps: float) -> str:
    """From GB/s with GB = 1e9 bytes: ``212 GB/s``; ``3.83 MB/s`` where it is little."""
    return f"{figure(gbps * 1e3)} MB/s" if 0 < gbps < 0.1 else f"{figure(gbps)} GB/s"


def error(value: float | None) -> str:
    """An error of a result: ``1.2e-3``, ``0``, ``nan``; a dash where there is none."""
    if value is None:
        return "-"
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def percent(share: float) -> str:
    """A share of 1: ``47%``, ``0.3%``."""
    return f"{share * 100:.1f}%" if 0 < abs(share) < 0.01 else f"{share * 100:.0f}%"


def change(ratio: float) -> str:
    """A ratio as a change: ``+3.1%``, ``-5.0%``."""
    return f"{(ratio - 1) * 100:+.1f}%"


def speedup(value: float) -> str:
    """A factor: ``1.34x``."""
    return f"{value:.2f}x" if abs(value) < 100 else f"{value:.0f}x"


def interval(ratio: Ratio) -> str:
    """A speedup with its interval, ``1.34x [1.31, 1.36]``; ``1.34x`` where there is none."""
    bounds = [speedup(bound).removesuffix("x") for bound in ratio.interval or ()]
    return f"{speedup(ratio.median)} [{', '.join(bounds)}]" if bounds else speedup(ratio.median)


def sureness(ratio: Ratio) -> str:
    """What is to be said where a speedup shows no difference; empty where it shows one."""
    if ratio.interval is None:
        return "no interval below 3 pairs"
    return "" if ratio.differs else "no difference"


def spread(times: Spread) -> str:
    """A median with its 10th and 90th percentile in one unit: ``2.13 ms [2.05, 2.30]``."""
    value, unit = duration(times.median).split(" ")
    factor = next(factor for _, factor, name in _TIMES if name == unit)
    return f"{value} {unit} [{figure(times.p10 * factor)}, {figure(times.p90 * factor)}]"


def count(value: int) -> str:
    """A whole number in groups of three: ``131 584``."""
    return f"{value:,}".replace(",", " ")


def moment(seconds: float) -> str:
    """A time since the epoch as the time of day, or as the day where that is not today: ``14:03:07``, ``29 Nov``."""
    then = time.localtime(seconds)
    same_day = time.strftime("%Y-%m-%d", then) == time.strftime("%Y-%m-%d")
    return time.strftime("%H:%M:%S" if same_day else "%d %b", then)


def bar(share: float, width: int) -> str:
    """A bar of ``width`` cells filled to a share of 1, in eighths of a cell."""
    eighths = round(max(0.0, min(1.0, share if share == share else 0.0)) * width * 8)
    part = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return ("█" * (eighths // 8) + part).ljust(width, "░")


def _scaled(value: float, units: tuple[tuple[float, str], ...], unit: str) -> str:
    for least, name in units:
        if abs(value) >= least:
            return f"{figure(value / least)} {name}"
    return f"{figure(value)} {unit}"
