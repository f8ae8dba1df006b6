"""Runs of language models in the session store: what was asked, what came, what it was worth."""

from __future__ import annotations

import fcntl
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sessions.model import Attempt, Outcome, Proposal, RunFacts, Solve
from sessions.rows import ATTEMPT_COLUMNS, EDITED, SAY_NOTHING, to_attempt
from sessions.store import Store, insert, pack, unpack
from workbench.errors import UsageError
from workbench.events import Profile, ProposalFinished, Ran, RankProfile

if TYPE_CHECKING:
    from workbench.target import Target


def _columns(table: str, kind: type) -> str:
    return ", ".join(f"{table}.{field.name}" for field in fields(kind))


_SOLVE, _PROPOSAL = _columns("solves", Solve), _columns("proposals", Proposal)
_OF_MODEL = f"note != '{EDITED}' AND status NOT IN {SAY_NOTHING}"
"""Attempts that say something about a proposal as the model made it."""
_OUTCOME = f"""
SELECT solves.name AS run, {_columns("solves", RunFacts)}, coalesce(attempts.manner, '') AS manner,
    coalesce(json_extract(solves.options, '$.llm.require'), '') AS required, proposals.sample,
    proposals.step, coalesce(attempts.status, proposals.outcome) AS status, attempts.speedup,
    attempts.speedup_low AS low
FROM proposals JOIN solves ON solves.name = proposals.run
    LEFT JOIN attempts ON attempts.proposal = proposals.id AND attempts.note != '{EDITED}'
WHERE coalesce(attempts.status, proposals.outcome) NOT IN {SAY_NOTHING}
    AND coalesce(attempts.status, proposals.outcome) NOT IN ('error', 'code')
    AND (solves.state = 'finished'
        OR proposals.sample < (SELECT max(sample) FROM proposals AS others WHERE others.run = solves.name))
ORDER BY proposals.id
"""
"""Steps that say something about the model: neither what was not judged, nor the sample that a run stopped in."""


class Solves:
    """Runs, their proposals and outcomes. All methods may block as those of the store; errors as in its ``record``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, target: Target, model: str, feedback: str, options: Mapping[str, Any], hardware: str = "") -> Solve:
        """A new run."""
        values = {
            "name": f"solve-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}",
            "problem": target.problem.stem,
            "backend": target.backend,
            "model": model,
            "feedback": feedback,
            "world": target.world,
            "size": target.binding.size,
            "dtype": target.binding.dtype,
            "device": target.device,
            "hardware": hardware,
            "started": time.time(),
            "state": "running",
            "reason": "",
            "options": json.dumps(dict(options)),
        }
        self._store.write(lambda db: insert(db, "solves", values))
        return self.solve(str(values["name"]))

    def claim(self, name: str) -> Callable[[], None]:
        """Keep other programs from going on with a run while this one lives; what is returned lets go of it.

        UsageError where another one has it. Nothing is claimed in a store that is in memory.
        """
        if self._store.path is None:
            return lambda: None
        place = self._store.path.with_name(f"{name}.running")
        try:
            file = open(place, "wb")  # noqa: SIM115  it is held as long as the run lasts
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise UsageError(f"{name} runs in another pkwb: end it there before you go on with it") from None
        except OSError:
            return lambda: None  # a file system without locks, or a full one

        def release() -> None:
            place.unlink(missing_ok=True)
            file.close()

        return release

    def mark(self, name: str, state: str, reason: str = "") -> None:
        """Set the state of a run."""
        statement = "UPDATE solves SET state = ?, reason = ? WHERE name = ?"
        self._store.write(lambda db: db.execute(statement, (state, reason, name)))

    def solve(self, name: str) -> Solve:
        """One run; UsageError if there is none of that name."""
        found = self._store.read(f"SELECT {_SOLVE} FROM solves WHERE name = ?", (name,))
        if not found:
            raise UsageError(f"there is no run {name}: `pkwb solve --list` shows what is kept")
        return _solve(found[0])

    def solves(self, limit: int = 50) -> list[Solve]:
        """Runs, newest first."""
        return [
            _solve(row)
            for row in self._store.read(f"SELECT {_SOLVE} FROM solves ORDER BY started DESC LIMIT ?", (limit,))
        ]

    def propose(
        self, run: str, sample: int, step: int, prompt: str, sent: Sequence[Mapping[str, str]], came: ProposalFinished
    ) -> int:
        """Keep a reply; returns the proposal's id."""
        values = {
            "run": run,
            "sample": sample,
            "step": step,
            "started": came.time - came.seconds,
            "outcome": came.outcome,
            "prompt": prompt,
            "tokens_in": came.tokens_in,
            "tokens_out": came.tokens_out,
            "cost": came.cost_usd,
            "seconds": came.seconds,
            "sent": pack(json.dumps([dict(message) for message in sent])),
            "reply": pack(came.reply),
        }
        return self._store.write(lambda db: insert(db, "proposals", values))

    def answer(self, proposal: int, text: str) -> None:
        """Keep what the model is told of a proposal."""
        statement = "UPDATE proposals SET answer = ? WHERE id = ?"
        self._store.write(lambda db: db.execute(statement, (pack(text), proposal)))

    def proposals(self, run: str) -> list[Proposal]:
        """The proposals of a run, in the order in which they were made."""
        return [
            _proposal(row)
            for row in self._store.read(f"SELECT {_PROPOSAL} FROM proposals WHERE run = ? ORDER BY id", (run,))
        ]

    def proposal(self, proposal_id: int) -> Proposal:
        """One proposal; UsageError if it is not kept."""
        found = self._store.read(f"SELECT {_PROPOSAL} FROM proposals WHERE id = ?", (proposal_id,))
        if not found:
            raise UsageError(f"the proposal {proposal_id} is not kept any more")
        return _proposal(found[0])

    def attempt_of(self, proposal: int) -> int:
        """The id of the newest attempt that a proposal became; 0 where there is none."""
        query = f"SELECT max(id) AS id FROM attempts WHERE proposal = ? AND {_OF_MODEL}"
        found = self._store.read(query, (proposal,))
        return int(found[0]["id"] or 0)

    def profile_of(self, proposal: int) -> Profile | None:
        """The profile of the newest attempt that a proposal became; None where there is none."""
        attempt = self.attempt_of(proposal)
        found = self._store.verdict(attempt).get("profile") if attempt else None
        if not found:
            return None
        ranks, ran = (RankProfile(**one) for one in found["ranks"]), (Ran(**one) for one in found["ran"])
        return Profile(ranks=tuple(ranks), ran=tuple(ran), note=found["note"])

    def attempts(self, run: str) -> dict[int, Attempt]:
        """What the proposals of a run were worth, by their ids; the newest attempt of each."""
        mine = "SELECT id FROM proposals WHERE run = ?"
        query = f"SELECT {ATTEMPT_COLUMNS} FROM attempts WHERE proposal IN ({mine}) AND {_OF_MODEL} ORDER BY id"
        found = [to_attempt(row) for row in self._store.read(query, (run,))]
        return {attempt.proposal: attempt for attempt in found if attempt.proposal is not None}

    def outcomes(self) -> list[Outcome]:
        """Every judged step of every run, for scores."""
        return [Outcome(**dict(row)) for row in self._store.read(_OUTCOME)]


def _solve(row: sqlite3.Row) -> Solve:
    return Solve(**{**dict(row), "options": json.loads(row["options"])})


def _proposal(row: sqlite3.Row) -> Proposal:
    texts = {"sent": tuple(json.loads(unpack(row["sent"]))), "reply": unpack(row["reply"])}
    answer = None if row["answer"] is None else unpack(row["answer"])
    return Proposal(**{**dict(row), **texts, "answer": answer})
