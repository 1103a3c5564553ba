"""Turns a worker's untrusted reply about a cell into a notebook's outputs."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import torch
from nbformat import NotebookNode
from nbformat.v4 import new_output

from ...errors import AnswerProtocol
from ...escaping import printable

_IMAGES = ("image/png", "image/jpeg")
_STREAMS = ("stdout", "stderr")


def outputs_of(reply: Any) -> list[NotebookNode]:
    """Returns the outputs in a reply; raises `AnswerProtocol` if the reply is invalid."""
    if not isinstance(reply, list):
        raise AnswerProtocol("the reply is not a list of outputs")
    return [_output(entry) for entry in reply]


def error_output(name: str, text: str, trace: str = "") -> NotebookNode:
    lines = (trace or f"{name}: {text}").split("\n")
    return _new("error", ename=name, evalue=text, traceback=lines)


def _new(kind: str, **values: Any) -> NotebookNode:
    make: Callable[..., NotebookNode] = new_output
    return make(kind, **values)


def _output(entry: Any) -> NotebookNode:
    make = _KINDS.get(entry.get("kind")) if isinstance(entry, dict) else None
    if make is None:
        raise AnswerProtocol("the reply contains an unknown kind of output")
    return make(entry)


def _stream(entry: Mapping[str, Any]) -> NotebookNode:
    name = entry.get("name")
    if name not in _STREAMS:
        raise AnswerProtocol("the reply contains an unknown stream")
    return _new("stream", name=name, text=_text(entry, "text"))


def _display(entry: Mapping[str, Any]) -> NotebookNode:
    return _new("display_data", data=_data(entry))


def _result(entry: Mapping[str, Any]) -> NotebookNode:
    return _new("execute_result", data=_data(entry))


def _error(entry: Mapping[str, Any]) -> NotebookNode:
    return error_output(_text(entry, "name"), _text(entry, "text"), _text(entry, "traceback"))


_KINDS: dict[Any, Callable[[Mapping[str, Any]], NotebookNode]] = {
    "stream": _stream,
    "display": _display,
    "result": _result,
    "error": _error,
}


def _data(entry: Mapping[str, Any]) -> dict[str, str]:
    """Returns an output's text and pictures; encodes the pictures, so that the base64 is valid."""
    given = entry.get("data")
    if not isinstance(given, dict):
        raise AnswerProtocol("the reply contains an output without data")
    data = {"text/plain": _text(given, "text/plain")} if "text/plain" in given else {}
    for kind in _IMAGES:
        picture = given.get(kind)
        if isinstance(picture, torch.Tensor) and picture.dtype is torch.uint8:
            data[kind] = base64.b64encode(picture.flatten().numpy().tobytes()).decode()
    return data


def _text(entry: Mapping[str, Any], name: str) -> str:
    """Returns text that is safe in pages, terminals and JSON; keeps carriage returns."""
    value = entry.get(name)
    if not isinstance(value, str):
        raise AnswerProtocol("the reply contains an output that is not text")
    return "\r".join(map(printable, value.split("\r")))
