"""The one event stream: frozen dataclasses, each with a JSON form.

The app, ``pkwb eval --json``, the session store and the tests consume the same objects. ``attempt`` numbers the
judged source versions of one sitting from 1; 0 means that an event belongs to no attempt. ``time`` is seconds since
the epoch. Times named ``*_ms`` are milliseconds, bytes are bytes, bandwidths are GB/s with GB = 1e9 bytes.
"""

from __future__ import annotations

from workbench.events.bandwidth import Bandwidth, Floor, RankBandwidth
from workbench.events.base import Event
from workbench.events.builds import BUILD_WORDS, BuildFinished, BuildStarted, BuildSummary, Diagnostic
from workbench.events.encoding import event_name, to_dict, to_json
from workbench.events.machine import GpuLoad, LinkCounters, Notice, PeerTraffic, Telemetry
from workbench.events.phases import PHASES, Origin, Phase, PhaseChanged, RanksReady, SourceSeen, WatchChanged
from workbench.events.profile import Profile, Ran, RanKind, RankProfile
from workbench.events.proposals import (
    ProposalDelta,
    ProposalFinished,
    ProposalOutcome,
    ProposalStarted,
    ProposalTrouble,
    ProposalWaiting,
    ProposerChanged,
)
from workbench.events.ranks import FirstVerdict, Log, RankStack, RankSummary, RankVerdict, Status
from workbench.events.solving import SolveEnding, SolveFinished, SolveStep
from workbench.events.stream import EventStream, Sink
from workbench.events.timing import Cache, LaunchTime, Protocol, Ratio, Spread, TimingProgress
from workbench.events.verdict import Verdict

__all__ = [
    "BUILD_WORDS",
    "PHASES",
    "Bandwidth",
    "BuildFinished",
    "BuildStarted",
    "BuildSummary",
    "Cache",
    "Diagnostic",
    "Event",
    "EventStream",
    "FirstVerdict",
    "Floor",
    "GpuLoad",
    "LaunchTime",
    "LinkCounters",
    "Log",
    "Notice",
    "Origin",
    "PeerTraffic",
    "Phase",
    "PhaseChanged",
    "Profile",
    "ProposalDelta",
    "ProposalFinished",
    "ProposalOutcome",
    "ProposalStarted",
    "ProposalTrouble",
    "ProposalWaiting",
    "ProposerChanged",
    "Protocol",
    "Ran",
    "RanKind",
    "RankBandwidth",
    "RankProfile",
    "RankStack",
    "RankSummary",
    "RankVerdict",
    "RanksReady",
    "Ratio",
    "Sink",
    "SolveEnding",
    "SolveFinished",
    "SolveStep",
    "SourceSeen",
    "Spread",
    "Status",
    "Telemetry",
    "TimingProgress",
    "Verdict",
    "WatchChanged",
    "event_name",
    "to_dict",
    "to_json",
]
