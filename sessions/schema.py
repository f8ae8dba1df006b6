"""The session store's tables, their migrations, and how a database file is opened or refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from workbench.errors import StoreError
from workbench.files import network_filesystem

APPLICATION_ID = 0x706B7762
"""``pkwb`` in ASCII: tells our databases from other programs'."""
BUSY_SECONDS = 5.0

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE sources (digest TEXT PRIMARY KEY, packed BLOB NOT NULL)",
        """CREATE TABLE attempts (
            id INTEGER PRIMARY KEY AUTOINCREMENT, sitting TEXT NOT NULL, number INTEGER NOT NULL,
            problem TEXT NOT NULL, backend TEXT NOT NULL, path TEXT NOT NULL,
            digest TEXT NOT NULL REFERENCES sources (digest), started REAL NOT NULL, ended REAL NOT NULL,
            status TEXT NOT NULL, reason TEXT NOT NULL, speedup REAL, speedup_low REAL, speedup_high REAL,
            candidate_ms REAL, reference_ms REAL, gbps REAL, world INTEGER NOT NULL, size TEXT NOT NULL,
            dtype TEXT NOT NULL, device TEXT NOT NULL, note TEXT NOT NULL, verdict BLOB NOT NULL)""",
        "CREATE INDEX attempts_by_problem ON attempts (problem, status, speedup)",
        "CREATE INDEX attempts_by_digest ON attempts (digest)",
        "CREATE INDEX attempts_by_sitting ON attempts (sitting)",
        "CREATE TABLE openings (problem TEXT PRIMARY KEY, backend TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL)",
    ),
    ("ALTER TABLE attempts ADD COLUMN manner TEXT NOT NULL DEFAULT ''",),
    (
        """CREATE TABLE solves (
            name TEXT PRIMARY KEY, problem TEXT NOT NULL, backend TEXT NOT NULL, model TEXT NOT NULL,
            feedback TEXT NOT NULL, world INTEGER NOT NULL, size TEXT NOT NULL, dtype TEXT NOT NULL,
            device TEXT NOT NULL, started REAL NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
            options TEXT NOT NULL)""",
        """CREATE TABLE proposals (
            id INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, sample INTEGER NOT NULL, step INTEGER NOT NULL,
            started REAL NOT NULL, outcome TEXT NOT NULL, prompt TEXT NOT NULL, tokens_in INTEGER NOT NULL,
            tokens_out INTEGER NOT NULL, cost REAL, seconds REAL NOT NULL, sent BLOB NOT NULL, reply BLOB NOT NULL,
            answer BLOB)""",
        "CREATE INDEX proposals_by_run ON proposals (run, sample, step)",
        "ALTER TABLE attempts ADD COLUMN model TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE attempts ADD COLUMN proposal INTEGER",
        "CREATE INDEX attempts_by_proposal ON attempts (proposal)",
    ),
    ("ALTER TABLE solves ADD COLUMN hardware TEXT NOT NULL DEFAULT ''",),
)
"""Statements that lead from version i to i + 1 (``PRAGMA user_version``). Published entries never change."""


def connect_memory() -> sqlite3.Connection:
    """An empty store that ends with the process."""
    connection = _connect(":memory:")
    migrate(connection)
    return connection


def connect_file(path: Path, thorough: bool = True) -> sqlite3.Connection:
    """The store in a file, made or migrated where needed.

    StoreError if it is damaged, another program's, or newer; such a file is left as it is. ``thorough`` reads it whole.
    """
    connection: sqlite3.Connection | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = _connect(str(path))
        _refuse_foreign(connection)
        if thorough:
            _refuse_damaged(connection)
        # WAL needs memory shared by all users of the file, which a network file system does not give.
        connection.execute(f"PRAGMA journal_mode = {'DELETE' if network_filesystem(path.parent) else 'WAL'}")
        connection.execute("PRAGMA synchronous = NORMAL")
        migrate(connection)
    except (sqlite3.Error, OSError, StoreError) as error:
        if connection is not None:
            connection.close()
        raise StoreError(str(error)) from None
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database to the newest version; safe when two processes do it at once."""
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in MIGRATIONS[_version(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.execute("ROLLBACK")
        raise


def _connect(name: str) -> sqlite3.Connection:
    # Autocommit: transactions are written out, and the store's own lock guards the threads.
    connection = sqlite3.connect(name, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_foreign(connection: sqlite3.Connection) -> None:
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if owner not in (0, APPLICATION_ID) or (owner == 0 and tables):
        raise StoreError("it is another program's database")
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise StoreError(f"a newer pkwb wrote it (schema {version}, this one knows {len(MIGRATIONS)}); update pkwb")


def _refuse_damaged(connection: sqlite3.Connection) -> None:
    finding = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if finding != "ok":
        raise StoreError(f"it is damaged ({finding.splitlines()[-1]})")
