"""Finds definitions with nearly the name of a question that is not defined."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import CodeType, FunctionType
from typing import Any

from ..submission.similar import closest


def other_name(question: str, namespace: Mapping[str, Any], questions: Collection[str] = ()) -> str:
    """Say which of the student's definitions has nearly the question's name; otherwise empty.

    A definition that answers another of the `questions` does not count.
    """
    own = [
        name
        for name, value in namespace.items()
        if name not in questions and _is_own(value, namespace)
    ]
    if outer := next((name for name in own if _holds(namespace[name], question)), ""):
        return f"`{question}` is inside `{outer}`: move it out, to the left margin"
    near = closest(question, own)
    alike = [name for name in own if isinstance(namespace[name], type) is question[0].isupper()]
    if not near and len(alike) == 1:
        return f"is `{alike[0]}` your answer? The question is `{question}`: give it that name"
    return f"`{near}` is defined, the question is `{question}`: give it that name" if near else ""


def _is_own(value: Any, namespace: Mapping[str, Any]) -> bool:
    if isinstance(value, FunctionType):
        return value.__globals__ is namespace
    return isinstance(value, type) and value.__module__ == namespace.get("__name__")


def _holds(value: Any, question: str) -> bool:
    """Return whether a function or class contains a definition of that name."""
    if isinstance(value, type):
        return question in vars(value)
    inner = [part for part in value.__code__.co_consts if isinstance(part, CodeType)]
    return any(part.co_name == question for part in inner)
