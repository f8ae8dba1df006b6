"""Finding problems by what people type: a number, a name, a group, a parallelism, a collective, or parts of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from problems.model import Entry

_NUMBER, _NUMBER_START, _NAME_START, _NAME, _ELSEWHERE, _LETTERS = range(6)
"""Kinds of matches, the closest first."""
_Rank = int | None
"""A kind of match; None where there is none."""


def matching(entries: Sequence[Entry], text: str) -> list[Entry]:
    """The problems that a text means, in the order given; all of them for an empty text.

    The whole text is looked for first, then its words, which must all be found, then the letters of each word in
    their order within the name. Capitals, blanks, ``-`` and ``_`` make no difference.
    """
    return [entry for entry, _ in _ranked(entries, text)]


def closest(entries: Sequence[Entry], text: str) -> Entry | None:
    """Of the problems that a text means, the one that it fits best."""
    return min(_ranked(entries, text), key=lambda found: found[1], default=(None, 0))[0]


def contains(values: Iterable[str], text: str) -> bool:
    """Whether one of some words contains a text, capitals, blanks, ``-`` and ``_`` aside."""
    return any(_plain(text) in _plain(value) for value in values)


def short_name(entry: Entry) -> str:
    """The name without the number: ``allreduce``."""
    return entry.stem.partition("_")[2] or entry.stem


def _ranked(entries: Sequence[Entry], text: str) -> list[tuple[Entry, int]]:
    wanted = re.sub(r"^(?:problem[ _-]?|#)(?=\d)", "", text.strip().lower())
    if not _plain(wanted):
        return [(entry, _ELSEWHERE) for entry in entries]
    for rank in (_whole, _by_words, _by_letters):
        found = [(entry, kind) for entry in entries if (kind := rank(entry, wanted)) is not None]
        if found:
            return found
    return []


def _whole(entry: Entry, text: str) -> _Rank:
    wanted = _plain(text)
    if wanted == str(entry.number):
        return _NUMBER
    if str(entry.number).startswith(wanted):
        return _NUMBER_START
    name = _plain(short_name(entry))
    if wanted in name or _plain(entry.stem).startswith(wanted):
        return _NAME_START if name.startswith(wanted) else _NAME
    words = (entry.title, entry.group, *entry.parallelism, *entry.collectives)
    return _ELSEWHERE if not wanted.isdecimal() and contains(words, wanted) else None


def _by_words(entry: Entry, text: str) -> _Rank:
    return _all_words(entry, text, _whole)


def _by_letters(entry: Entry, text: str) -> _Rank:
    return _all_words(entry, text, _letters)


def _all_words(entry: Entry, text: str, rank: Callable[[Entry, str], _Rank]) -> _Rank:
    ranks = [rank(entry, word) for word in text.split() if _plain(word)]
    found = [kind for kind in ranks if kind is not None]
    return max(found) if len(found) == len(ranks) else None


def _letters(entry: Entry, word: str) -> _Rank:
    rest = iter(_plain(short_name(entry)))
    return _LETTERS if all(letter in rest for letter in _plain(word)) else _whole(entry, word)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
