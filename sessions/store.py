"""The session store: every attempt with its source and verdict, in SQLite.

Safe with several pkwb processes at once, safe when killed, usable from any thread. When the file cannot be used, work
goes on in memory and :attr:`Store.problem_with` says why.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sessions import rows, schema
from sessions.model import Attempt, Proposed, Sitting, Standing
from workbench.errors import StoreError, UsageError
from workbench.events import Verdict, to_json
from workbench.files import state_dir

if TYPE_CHECKING:
    from workbench.target import Source, Target

_Result = TypeVar("_Result")
_SAME_CONDITIONS = "problem, backend, world, size, dtype, device, manner"
_BEST_FIRST = "speedup IS NULL, speedup DESC, id DESC"


def default_path() -> Path:
    """Where the store is unless ``sessions.path`` says otherwise."""
    return state_dir() / "sessions.sqlite3"


def new_sitting() -> str:
    """A name for this run of pkwb, sorted by time."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


class Store:
    """Attempts, their sources and verdicts. All methods may block for up to the busy time of 5 s."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None, keep: int, problem_with: str = "") -> None:
        self._db = connection
        self._lock = threading.RLock()
        self.path = path
        """The database file; None in memory."""
        self.keep = keep
        self.problem_with = problem_with
        """Why attempts are kept in memory only, and what to do; empty when all is well."""
        self.sitting = new_sitting()

    @classmethod
    def open(cls, path: Path | None = None, keep: int = 5000, *, create: bool = True, thorough: bool = True) -> Store:
        """The store at ``path`` or the default place; in memory, with ``problem_with`` set, where that cannot be used.

        ``keep`` is ``sessions.keep``. Without ``create`` a missing file stays missing. ``thorough`` reads the whole
        file, to find damage.
        """
        place = default_path() if path is None else path.expanduser()
        if not create and not place.exists():
            return cls.memory(keep)
        try:
            return cls(schema.connect_file(place, thorough), place, keep)
        except StoreError as error:
            return cls(schema.connect_memory(), None, keep, _advice(place, str(error)))

    @classmethod
    def memory(cls, keep: int = 5000) -> Store:
        """A store that ends with the process."""
        return cls(schema.connect_memory(), None, keep)

    def close(self) -> None:
        """Close the database; the store cannot be used afterwards."""
        with self._lock:
            self._db.close()

    def record(
        self,
        target: Target,
        source: Source,
        verdict: Verdict,
        started: float,
        note: str = "",
        proposed: Proposed | None = None,
    ) -> int:
        """Keep one attempt that ended; returns its id. ``proposed`` says which proposal of a model it was.

        The first time the file cannot be written, the attempt is kept in memory, as all later ones, and StoreError is
        raised to say so.
        """
        values = rows.attempt_values(target, source, verdict, started)
        values |= {"sitting": self.sitting, "note": note, "verdict": pack(to_json(verdict))}
        values |= {"model": proposed.model, "proposal": proposed.id} if proposed else {}
        return self.write(lambda db: self._insert(db, values, pack(source.text)))

    def opened(self, target: Target) -> None:
        """Remember that this problem was opened; errors as in :meth:`record`."""
        values = (target.problem.stem, target.backend, str(target.path), time.time())
        statement = "INSERT OR REPLACE INTO openings (problem, backend, path, at) VALUES (?, ?, ?, ?)"
        self.write(lambda db: db.execute(statement, values))

    def attempts(self, problem: str | None = None, limit: int = 200, sitting: str | None = None) -> list[Attempt]:
        """Attempts, newest first; of one problem (its stem) or sitting only, where given."""
        conditions = {"problem": problem, "sitting": sitting}
        return self._attempts(conditions, "id DESC", limit)

    def attempt(self, attempt_id: int) -> Attempt:
        """One attempt; UsageError if there is none of that id."""
        found = self._attempts({"id": attempt_id}, "id", 1)
        if not found:
            raise UsageError(f"there is no attempt {attempt_id}: `pkwb sessions list` shows what is kept")
        return found[0]

    def best(self, problem: str, like: Target | None = None, manner: str = "") -> Attempt | None:
        """The fastest ok attempt on a problem; with ``like``, of the same ranks, size, dtype, device and backend, timed
        in the same ``manner``."""
        conditions: dict[str, Any] = {"problem": problem, "status": "ok"}
        if like is not None:
            conditions |= {"world": like.world, "size": like.binding.size, "dtype": like.binding.dtype}
            conditions |= {"device": like.device, "backend": like.backend, "manner": manner}
        found = self._attempts(conditions, _BEST_FIRST, 1)
        return found[0] if found else None

    def standings(self) -> dict[str, Standing]:
        """What is known of each problem that was opened or attempted, by stem."""
        best = {attempt.problem: attempt for attempt in self._best_of_each()}
        opened = {str(row["problem"]): float(row["at"]) for row in self.read("SELECT problem, at FROM openings")}
        return {stem: Standing(best.get(stem), opened.get(stem)) for stem in best.keys() | opened.keys()}

    def _best_of_each(self) -> list[Attempt]:
        columns = rows.ATTEMPT_COLUMNS
        ranked = f"row_number() OVER (PARTITION BY problem ORDER BY status != 'ok', {_BEST_FIRST})"
        inner = f"SELECT {columns}, {ranked} AS place FROM attempts WHERE status NOT IN {rows.SAY_NOTHING}"
        return [rows.to_attempt(row) for row in self.read(f"SELECT {columns} FROM ({inner}) WHERE place = 1")]

    def sittings(self, limit: int = 50) -> list[Sitting]:
        """Runs of pkwb with at least one attempt, newest first."""
        query = f"SELECT {rows.SITTING_COLUMNS} FROM attempts GROUP BY sitting ORDER BY max(id) DESC LIMIT ?"
        return [rows.to_sitting(row) for row in self.read(query, (limit,))]

    def source(self, digest: str) -> str:
        """The text of a source; UsageError if it is not kept."""
        found = self.read("SELECT packed FROM sources WHERE digest = ?", (digest,))
        if not found:
            raise UsageError(f"the source {digest[:12]} is not kept any more")
        return unpack(found[0]["packed"])

    def verdict(self, attempt_id: int) -> dict[str, Any]:
        """The whole verdict event of an attempt as JSON data, with samples and environment."""
        found = self.read("SELECT verdict FROM attempts WHERE id = ?", (attempt_id,))
        if not found:
            raise UsageError(f"there is no attempt {attempt_id}: `pkwb sessions list` shows what is kept")
        verdict: dict[str, Any] = json.loads(unpack(found[0]["verdict"]))
        return verdict

    def _attempts(self, conditions: dict[str, Any], order: str, limit: int) -> list[Attempt]:
        wanted = {column: value for column, value in conditions.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in wanted) or "1"
        query = f"SELECT {rows.ATTEMPT_COLUMNS} FROM attempts WHERE {where} ORDER BY {order} LIMIT ?"
        return [rows.to_attempt(row) for row in self.read(query, (*wanted.values(), limit))]

    def _insert(self, db: sqlite3.Connection, values: dict[str, Any], packed: bytes) -> int:
        db.execute("INSERT OR IGNORE INTO sources (digest, packed) VALUES (?, ?)", (values["digest"], packed))
        attempt_id = insert(db, "attempts", values)
        self._prune(db)
        return attempt_id

    def _prune(self, db: sqlite3.Connection) -> None:
        if not self.keep:
            return
        ranked = f"row_number() OVER (PARTITION BY {_SAME_CONDITIONS} ORDER BY {_BEST_FIRST})"
        best = f"SELECT id FROM (SELECT id, {ranked} AS place FROM attempts WHERE status = 'ok') WHERE place = 1"
        newest = "SELECT id FROM attempts ORDER BY id DESC LIMIT 1 OFFSET ?"
        gone = db.execute(f"DELETE FROM attempts WHERE id <= ({newest}) AND id NOT IN ({best})", (self.keep,))
        if gone.rowcount > 0:
            db.execute("DELETE FROM sources WHERE digest NOT IN (SELECT digest FROM attempts)")
        newest = "SELECT id FROM proposals ORDER BY id DESC LIMIT 1 OFFSET ?"
        if db.execute(f"DELETE FROM proposals WHERE id <= ({newest})", (self.keep,)).rowcount > 0:
            db.execute("DELETE FROM solves WHERE name NOT IN (SELECT run FROM proposals)")

    def read(self, query: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """The rows of a query; for the modules of this package."""
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except sqlite3.Error as error:
                self._leave_file(error)
                return self._db.execute(query, values).fetchall()

    def write(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Do one thing in a transaction, for the modules of this package; errors as in :meth:`record`."""
        with self._lock:
            try:
                return _transaction(self._db, action)
            except sqlite3.Error as error:
                self._leave_file(error)
                _transaction(self._db, action)
                raise StoreError(self.problem_with) from None

    def _leave_file(self, error: sqlite3.Error) -> None:
        """Go on in memory, with what can still be read of the file; re-raises what is no trouble of the file."""
        if self.path is None:
            raise error
        file, self._db = self._db, schema.connect_memory()
        self.problem_with, self.path = _advice(self.path, str(error)), None
        try:
            file.backup(self._db)
        except sqlite3.Error:
            self._db.close()
            self._db = schema.connect_memory()
        finally:
            file.close()


def _transaction(db: sqlite3.Connection, action: Callable[[sqlite3.Connection], _Result]) -> _Result:
    db.execute("BEGIN IMMEDIATE")
    try:
        result = action(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return result


def insert(db: sqlite3.Connection, table: str, values: Mapping[str, Any]) -> int:
    """A new row of a table, for the modules of this package; returns its id."""
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    return int(db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())).lastrowid or 0)


def _advice(path: Path, reason: str) -> str:
    return (
        f"The session store {path} cannot be used: {reason}. The file is left as it is; new attempts are kept in "
        "memory only. Move it away, free its disk, or set sessions.path."
    )


def pack(text: str) -> bytes:
    """A text as the store keeps it."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def unpack(data: bytes) -> str:
    """The text again; StoreError where it is damaged."""
    try:
        return zlib.decompress(data).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError(f"this entry of the session store is damaged: {error}") from None
