"""What keeps a reply from coming, told from the exceptions of litellm by their names, in words that say what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.events import ProposalTrouble

_NAMES: Mapping[ProposalTrouble, tuple[str, ...]] = {
    "key": ("AuthenticationError", "PermissionDeniedError"),
    "context": ("ContextWindowExceededError",),
    "rate": ("RateLimitError",),
    "model": ("NotFoundError",),
    "timeout": ("TimeoutError", "Timeout", "APITimeoutError"),
    "network": ("APIConnectionError",),
    "request": ("BadRequestError",),
    "server": ("InternalServerError", "ServiceUnavailableError", "APIStatusError", "APIError"),
}
"""Names of exceptions, or of those that they derive from; the nearest in the line of descent counts."""
_KINDS = {name: trouble for trouble, names in _NAMES.items() for name in names}
_BY_TEXT: tuple[tuple[str, ProposalTrouble], ...] = (
    (r"Connection error|Cannot connect|Name or service not known|Connection refused|ConnectError", "network"),
    (r"missing .{0,20}(?:api.?key|credentials)|unable to locate credentials", "key"),
    (r"Provider NOT provided", "model"),
    (r"maximum context length", "context"),
)
"""Kinds by what the message says, where the exception's name says less."""
_WORDS: Mapping[ProposalTrouble, str] = {
    "key": "{model}: the key was refused or is missing; it is read from {key}: set it and start pkwb again",
    "network": "{model} cannot be reached: check the network, the proxy and llm.api_base, then try again",
    "rate": "{model}: the provider's rate limit or quota is used up; wait and go on, or take another model",
    "context": "the conversation with llm.max_tokens for the reply is longer than {model} takes: lower llm.max_tokens, "
    "start a new conversation, or take a model with more context",
    "model": "the provider does not know {model}: write llm.model as provider/model",
    "timeout": "{model} sent no token for {timeout:g} s: try again, or raise llm.timeout",
    "server": "{model}: the provider failed; try again",
    "request": "{model}: the provider refused the request",
}
_AGAIN: Mapping[ProposalTrouble, int] = {"rate": 100, "server": 100, "network": 2}
"""How often each kind is worth another try, at most."""
_MOST_WAIT = 120.0
"""Seconds; who asks for more is not waited for."""
_HEAD = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)\b\s*[:-]\s*)+")
_TAIL = re.compile(r"\s*Original exception:.*", re.DOTALL)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 8
_DETAIL = 300
_MOST_TEXT = 100_000


@dataclass(frozen=True)
class Asked:
    """What was asked for, as messages name it."""

    model: str
    key: str
    """The environment variables that hold its key, in words."""
    timeout: float


@dataclass(frozen=True)
class Failure:
    """One failed request."""

    trouble: ProposalTrouble
    reason: str
    wait: float | None
    """Seconds until it is worth another try; None = it is not."""


def explain(error: BaseException, asked: Asked, tries: int, retries: int) -> Failure:
    """What an exception means, after so many tries of which ``retries`` may be repeats."""
    text = redacted(str(error), asked.key)[:_MOST_TEXT]
    trouble = _kind(error, text)
    detail = (_TAIL.sub("", _HEAD.sub("", text)).strip().splitlines() or [type(error).__name__])[0][:_DETAIL]
    words = _WORDS[trouble].format(model=asked.model, key=asked.key, timeout=asked.timeout)
    wait = _wait(error, tries) if tries < min(retries, _AGAIN.get(trouble, 0)) and "quota" not in text else None
    return Failure(trouble, f"{words} ({detail})", wait)


def redacted(text: str, names: str = "", shortest: int = _SHORTEST_SECRET) -> str:
    """The text without the values of environment variables that look like secrets, or are among ``names``."""
    for value, name in secrets_of(names, shortest).items():
        text = text.replace(value, f"<{name}>")
    return text


def secrets_of(names: str = "", shortest: int = _SHORTEST_SECRET) -> dict[str, str]:
    """Names by value, of environment variables that look like secrets or are among ``names``; long values first."""
    named = names.split(", ")
    found = {
        value: name
        for name, value in os.environ.items()
        if len(value) >= shortest and (name in named or _SECRET.search(name))
    }
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def told_apart(text: str, secrets: Mapping[str, str]) -> tuple[str, str]:
    """A part of a text with its secrets replaced, and its end, where that may be the beginning of a secret."""
    for value, name in secrets.items():
        text = text.replace(value, f"<{name}>")
    longest = max(map(len, secrets), default=1) - 1
    for start in range(max(0, len(text) - longest), len(text)):
        if any(value.startswith(text[start:]) for value in secrets):
            return text[:start], text[start:]
    return text, ""


def _kind(error: BaseException, text: str) -> ProposalTrouble:
    for pattern, trouble in _BY_TEXT:
        if re.search(pattern, text, re.IGNORECASE):
            return trouble
    return next((_KINDS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _KINDS), "server")


def _wait(error: BaseException, tries: int) -> float | None:
    """What the provider asks for, else 1, 2, 4 ... s."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        wanted = float(headers.get("retry-after", ""))
    except ValueError:
        wanted = min(60.0, 2.0**tries)
    return wanted if 0 <= wanted <= _MOST_WAIT else None
