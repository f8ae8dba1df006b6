"""The errors that pkwb itself raises; each message says what to do next.

PkwbError
|-- UsageError              exit code 2: the call, a setting or a file of the user
|   |-- SettingsError
|   |-- ProblemError        unknown, ambiguous or malformed problem
|   |   '-- FormulaError    a formula in problem.toml
|   |-- TopologyError       unknown or malformed topology
|   '-- SourceError         the working file cannot be read
'-- InfraError              exit code 3: pkwb's own machinery failed, never the kernel's fault
    |-- RanksError          ranks could not be started or stopped answering
    |   '-- LostSetError    ranks that stood by died before they had the file
    |-- BuilderError        the process that builds extensions could not be started or was ended
    |-- ProposerError         the process that asks language models could not be started, or got no reply
    |-- ChannelError        a message from a rank process is late, cut off or malformed
    '-- StoreError          the session store is damaged or cannot be written
"""

from __future__ import annotations

INTERRUPTED = 130
"""Exit code after ctrl+c, SIGTERM or SIGHUP, and when the reader of stdout has gone."""


class PkwbError(Exception):
    """Base of every error that pkwb raises on purpose."""

    exit_code = 3


class UsageError(PkwbError):
    """The call, a setting or a file of the user is at fault."""

    exit_code = 2


class SettingsError(UsageError):
    """A settings file holds an unknown key or a value of the wrong type."""


class ProblemError(UsageError):
    """A problem is unknown, ambiguous, or its folder is malformed."""


class FormulaError(ProblemError):
    """A formula cannot be parsed or evaluated."""


class TopologyError(UsageError):
    """A topology is unknown, malformed or too small for the ranks."""


class SourceError(UsageError):
    """The working file is missing, unreadable or not text."""


class InfraError(PkwbError):
    """pkwb's own machinery failed; never scored against a kernel."""


class RanksError(InfraError):
    """Ranks could not be started or stopped answering."""


class LostSetError(RanksError):
    """A set of ranks that stood by was lost before any of them ran the file."""


class BuilderError(InfraError):
    """The process that builds extensions could not be started, or was ended."""


class ProposerError(InfraError):
    """The process that asks language models could not be started, or no reply could be had."""


class ChannelError(InfraError):
    """A message from a rank process is late, cut off or malformed."""


class StoreError(InfraError):
    """The session store is damaged or cannot be written."""
