"""Families of mistakes by their ids: what each does in words, and what leads on (`words.toml`).

A key is an id, and what fills in its words: `counts_as|p|0.5`. What is done to a step, and by which
family, stands in `steps.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

#: other texts for a step, and the families that they are of
Rows = tuple[tuple[str, str], ...]

_NO_NAME = re.compile(r"[^a-z0-9]+")


def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


_WORDS, STEPS = _read("words.toml"), _read("steps.toml")
#: what leads on where a family has nothing of its own, and from two at once
LEAD: str = _WORDS["lead"]
#: small changes, and their families
SMALL_CHANGES: Mapping[str, str] = STEPS["small_changes"]


def rows_of(name: str) -> Rows:
    """The rows of a table."""
    return tuple((text, key) for text, key in STEPS[name])


def rows_by_name(name: str) -> Mapping[str, Rows]:
    """The rows of several tables, by what they are for."""
    return {of: tuple((text, key) for text, key in rows) for of, rows in STEPS[name].items()}


def key_of(family: str, *filled: str) -> str:
    """A key with what fills in the words."""
    return "|".join((family, *filled))


@lru_cache(maxsize=1024)
def words_of(key: str) -> str:
    """What a family does, after "This answer behaves as if"."""
    family, *filled = key.split("|")
    words: str = _WORDS[family]["words"]
    return words.format(*filled)


def lead_of(key: str) -> str:
    """What leads a student on: a question, or something to try."""
    lead: str = _WORDS[key.partition("|")[0]].get("lead", LEAD)
    return lead


@lru_cache(maxsize=1024)
def id_of(key: str) -> str:
    """The id that results have."""
    family, *filled = key.split("|")
    return _NO_NAME.sub("_", family.format(*filled).lower()).strip("_")
