"""Settings: one declared schema that drives the command line's flags, the settings files and docs/settings.md.

Every section is a frozen dataclass; every field carries its help text. Nothing else in pkwb declares a setting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

THEMES = ("pkwb-dark", "pkwb-light", "ansi-dark", "ansi-light")
"""Colour themes, in the order in which the theme key goes through them."""


def setting(
    default: Any,
    help: str,
    flag: str = "",
    choices: tuple[str, ...] = (),
    *,
    least: float | None = None,
    env: str = "",
    path: Literal["", "file", "program"] = "",
) -> Any:
    """A field of a settings section: default value, one line of help, the command-line flag if it has one.

    ``least`` is the smallest number allowed, ``env`` an environment variable that overrides the files. ``path`` values
    may begin with ``~`` and are relative to the folder of their settings file; a ``program`` without a slash is left
    to PATH.
    """
    metadata = {"help": help, "flag": flag, "choices": choices, "least": least, "env": env, "path": path}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class RanksSettings:
    """Where and how ranks run."""

    world: int = setting(2, "number of ranks", "--ranks", least=1)
    device: Literal["auto", "cpu", "cuda"] = setting("auto", "device of the ranks", "--device", ("auto", "cpu", "cuda"))
    python: str = setting(
        "",
        "interpreter of the ranks, with torch; empty = the one that runs pkwb",
        env="PKWB_RANKS_PYTHON",
        path="program",
    )
    share_gpus: bool = setting(
        False, "with fewer GPUs than ranks, let ranks share them: results are judged, nothing is timed", "--share-gpus"
    )
    threads: int = setting(0, "torch threads a CPU rank; 0 = cores divided by ranks, at least 1", least=0)


@dataclass(frozen=True)
class RunSettings:
    """What is run, unless the command line says otherwise."""

    backend: str = setting("pytorch", "backend of the working file", "--backend")
    size: str = setting("default", "smoke, default, large or MxN", "--size")
    dtype: str = setting("bfloat16", "dtype of the inputs", "--dtype")
    trials: int = setting(5, "trials with fresh inputs before ok", "--trials", least=1)
    samples: int = setting(100, "timed calls a side; 0 = no timing", least=0)
    protocol: Literal["pkwb", "pkb"] = setting(
        "pkwb",
        "how calls are timed: pkwb, or pkb as ParallelKernelBench does it, for figures like the published ones",
        "--protocol",
        ("pkwb", "pkb"),
    )
    profile: bool = setting(
        False, "profile one more call after those that are timed: compute, communication, overlap, gaps", "--profile"
    )
    graph: bool = setting(False, "time replays of each side's call as a CUDA graph, where it can be one", "--graph")
    cache: Literal["auto", "cold", "warm"] = setting(
        "auto",
        "caches when a timed call begins: cold = full of other data, warm = as the last call left them; "
        "auto = cold on GPUs",
        "--cache",
        ("auto", "cold", "warm"),
    )


@dataclass(frozen=True)
class LimitSettings:
    """Seconds after which a phase counts as a hang."""

    build: float = setting(300.0, "seconds for building one extension", least=0.1)
    start: float = setting(60.0, "seconds until ranks are ready", least=0.1)
    run: float = setting(120.0, "seconds for loading the file and for one trial", least=0.1)
    time: float = setting(180.0, "seconds for all of the timing", least=0.1)
    stall: float = setting(5.0, "seconds without an answer after which the ranks' stacks are shown", least=0.1)


@dataclass(frozen=True)
class BuildSettings:
    """How extensions of candidates are built."""

    full: bool = setting(False, "build with torch's own headers only, never with the slim ones", "--full-build")
    arch: str = setting(
        "", "compute capability to compile for, for example 90; empty = this machine's GPUs, else 90", "--arch"
    )
    cache: float = setting(5.0, "GB of built libraries that are kept", least=0)


@dataclass(frozen=True)
class WatchSettings:
    """How saves are noticed."""

    mode: Literal["auto", "notify", "poll"] = setting(
        "auto",
        "notify (inotify, FSEvents), poll, or auto: poll on network file systems",
        "",
        ("auto", "notify", "poll"),
    )
    interval: float = setting(0.5, "seconds between looks when polling", least=0.01)


@dataclass(frozen=True)
class ProblemSettings:
    """Where problems come from."""

    paths: list[str] = setting([], "folders with problem folders of your own", path="file")
    pkb: str = setting("", "top of a ParallelKernelBench checkout to take the problems from", "--pkb", path="file")


@dataclass(frozen=True)
class TopologySettings:
    """What the roofline is worked out for."""

    name: str = setting(
        "", "system of 'pkwb topology --list', or a topology file; empty = this machine", "--topology", path="program"
    )
    paths: list[str] = setting([], "folders with topology files of your own", path="file")


@dataclass(frozen=True)
class SessionSettings:
    """What is kept, and where."""

    path: str = setting("", "session store; empty = the platform's state folder", path="file")
    keep: int = setting(5000, "attempts kept before the oldest are dropped; 0 = all", least=0)


@dataclass(frozen=True)
class LlmSettings:
    """The language model. Keys come from the provider's environment variables and are kept nowhere."""

    model: str = setting("", "model as litellm names it: provider/model", "--model", env="PKWB_MODEL")
    api_base: str = setting("", "address of an OpenAI-compatible server; empty = the provider's own", "--api-base")
    key_env: str = setting("", "environment variable with the key for llm.api_base; empty = the provider's usual one")
    feedback: Literal["errors", "threshold", "full"] = setting(
        "full",
        "what a model is told of a verdict: errors; threshold = and whether the target is reached; full = all figures",
        "--feedback",
        ("errors", "threshold", "full"),
    )
    steps: int = setting(20, "proposals a sample at most", "--steps", least=1)
    samples: int = setting(1, "independent tries, each with a conversation of its own", "--samples", least=1)
    target: float = setting(0.0, "speedup at which a sample ends; 0 = none", "--target", least=0)
    budget_usd: float = setting(5.0, "US dollars that a run may cost", "--budget", least=0)
    stall: int = setting(8, "proposals in a row without progress that end a sample; 0 = any number", "--stall", least=0)
    max_tokens: int = setting(32_000, "tokens that a reply may have", least=1)
    timeout: float = setting(300.0, "seconds without a token after which a reply has failed", least=0.1)
    retries: int = setting(5, "times that a request is sent again after a rate limit or a server's error", least=0)
    input_price: float = setting(-1.0, "US dollars a million tokens sent; negative = as litellm knows it", least=-1)
    output_price: float = setting(-1.0, "the same for tokens of replies", least=-1)
    require: str = setting(
        "", "what may move data, as a wish and a label: library, hybrid, custom, or movers and backends", "--require"
    )
    templates: str = setting("", "folder with templates of your own; those not in it are pkwb's", path="file")


@dataclass(frozen=True)
class UiSettings:
    """The screen."""

    theme: str = setting("pkwb-dark", "colours, ansi: the terminal's own; where not set, as left on screen", "", THEMES)
    layout: Literal["full", "results"] = setting(
        "full", "all panes, or results only; where not set, as left on screen", "--layout", ("full", "results")
    )
    editor: str = setting("", "external editor; empty = $VISUAL, then $EDITOR, then vi")
    mouse: bool = setting(True, "take mouse events")
    fps: int = setting(0, "frames a second; 0 = 60, over ssh 20", least=0)
    telemetry: float = setting(1.0, "looks at the machine a second while nothing is timed; 0 = none", least=0)
    keys: dict[str, str] = setting({}, 'keys by action id, for example save = "ctrl+s,f2"')


@dataclass(frozen=True)
class Settings:
    """All settings; ``sources`` names the files they were read from, ``given`` the keys that they or flags set."""

    ranks: RanksSettings = field(default_factory=RanksSettings)
    run: RunSettings = field(default_factory=RunSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    build: BuildSettings = field(default_factory=BuildSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    problems: ProblemSettings = field(default_factory=ProblemSettings)
    topology: TopologySettings = field(default_factory=TopologySettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    sources: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()
