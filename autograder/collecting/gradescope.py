"""Reads students and submission times from `submission_metadata.yml` in Gradescope's export."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import yaml

from ..classroom.times import MissingZone, read_time
from ..errors import UserError
from .platforms import GRADESCOPE, Owner

METADATA = "submission_metadata.yml"
EXPORT = re.compile(r"assignment_\d+_export")
SUBMISSION = re.compile(r"submission_\d+")
_MAX_BYTES = 200 << 20

#: the owners of each submission, by the name of its folder
Submitters = Mapping[str, tuple[Owner, ...]]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # is optional
    """Reads YAML that Ruby has written; ignores tags for Ruby's own types."""


def _plain(loader: yaml.SafeLoader, _suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return str(node.value)


_Loader.add_multi_constructor("!", _plain)


def read_submitters(data: bytes) -> Submitters:
    """Returns the owners of each folder in an export; raises `UserError` for unusable data."""
    try:
        if len(data) > _MAX_BYTES:
            raise ValueError("it is larger than any export")
        document = yaml.load(data, _Loader)  # a safe loader, which creates only plain values
        return {str(name): tuple(_owners(str(name), entry)) for name, entry in document.items()}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{METADATA} can't be read: {' '.join(str(error).split())[:200]}\n"
            "  fix: download the export from Gradescope again and pass it unchanged"
        ) from error


def _owners(folder: str, entry: Mapping[str, Any]) -> Iterator[Owner]:
    time = _time(entry.get(":created_at"))
    for person in entry.get(":submitters") or ():
        fields = {key: _word(person.get(f":{key}")) for key in ("name", "sid", "email")}
        student = fields["email"] or fields["sid"] or fields["name"]
        if student:
            yield Owner(
                student=student,
                key=f"{GRADESCOPE} {student} {folder}",
                platform=GRADESCOPE,
                number=fields["sid"],
                entry=folder,
                email=fields["email"],
                name=fields["name"],
                time=time,
            )


def _word(value: object) -> str:
    """Returns a string or a number as text, or "" for a list, whose text could take gigabytes."""
    return str(value).strip() if isinstance(value, str | int) else ""


def _time(value: object) -> datetime | None:
    """Returns a time from a YAML timestamp or a string, or None if it has no zone."""
    try:
        return read_time(str(value) if isinstance(value, datetime) else _word(value))
    except MissingZone:
        return None
