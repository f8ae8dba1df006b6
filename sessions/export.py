"""Attempts as files: source, verdict with samples and environment, and what is known of each and of its proposal."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

from sessions.model import Attempt
from sessions.solves import Solves
from sessions.store import Store
from workbench.errors import UsageError


def attempt_document(store: Store, attempt_id: int) -> dict[str, Any]:
    """One attempt as JSON data: ``attempt``, ``source``, ``verdict``, and ``proposal`` where a model made it."""
    attempt = store.attempt(attempt_id)
    source = store.source(attempt.digest)
    found = {"attempt": dataclasses.asdict(attempt), "source": source, "verdict": store.verdict(attempt_id)}
    return {**found, "proposal": _proposal(store, attempt)}


def export_attempt(store: Store, attempt_id: int, folder: Path) -> Path:
    """Write one attempt into a new folder; returns the folder. UsageError if it is there already, with content."""
    attempt = store.attempt(attempt_id)
    return _write_folder(folder, _files(store, attempt))


def export_sitting(store: Store, sitting: str, folder: Path) -> Path:
    """Write all attempts of a sitting into a new folder, one folder each; errors as in :func:`export_attempt`."""
    attempts = store.attempts(sitting=sitting, limit=-1)
    if not attempts:
        raise UsageError(f"there is no sitting {sitting}: `pkwb sessions list --sittings` shows what is kept")
    files: dict[str, str] = {"attempts.json": _json([dataclasses.asdict(attempt) for attempt in attempts])}
    for attempt in attempts:
        inner = f"{attempt.number:04d}-{attempt.status}"
        files |= {f"{inner}/{name}": text for name, text in _files(store, attempt).items()}
    return _write_folder(folder, files)


def _proposal(store: Store, attempt: Attempt) -> dict[str, Any] | None:
    """What a model was sent and replied; None for a person's attempt, and where it is not kept any more."""
    if attempt.proposal is None:
        return None
    with contextlib.suppress(UsageError):
        return dataclasses.asdict(Solves(store).proposal(attempt.proposal))
    return None


def _files(store: Store, attempt: Attempt) -> dict[str, str]:
    document = attempt_document(store, attempt.id)
    parts = [name for name in ("attempt", "verdict", "proposal") if document[name] is not None]
    files = {f"{name}.json": _json(document[name]) for name in parts}
    return {**files, Path(attempt.path).name: document["source"]}


def _json(data: Any) -> str:
    return json.dumps(data, indent=1) + "\n"


def _write_folder(folder: Path, files: dict[str, str]) -> Path:
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty: name a new folder")
        for name, text in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot export to {folder}: {error.strerror}; name another folder") from None
    return folder
