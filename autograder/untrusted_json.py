"""Reads JSON that was written by a student, a platform or another machine; no other module does so.

Anything wrong with the text raises `ValueError`. The limit on nesting is always the same, whereas
Python's own limit depends on Python's version and on the depth of the call stack.
"""

from __future__ import annotations

import json
from typing import Any

from .garbage import garbage_kept

#: how deeply lists and objects may be nested; Jupyter's outputs reach a depth of a few dozen
MAX_DEPTH = 500
_HOLDERS = (dict, list)


@garbage_kept()
def read_untrusted_json(data: bytes | str, *, strict: bool = False) -> Any:
    """Returns the value of a JSON text; raises `ValueError` if it is invalid or nested too deeply.

    With `strict`, NaN and Infinity are errors, too: they are not JSON, but some notebooks contain
    them. The caller must limit the size of the text.
    """
    try:
        value = json.loads(data, parse_constant=_refused if strict else None)
        if _is_too_deep(value):
            raise ValueError(_TOO_DEEP)
        return value
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not a valid number in JSON")


_TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"


def _is_too_deep(value: Any) -> bool:
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
        level = [
            part.values() if isinstance(part, dict) else part
            for holder in level
            for part in holder
            if isinstance(part, _HOLDERS)
        ]
        if not level:
            return False
    return True
