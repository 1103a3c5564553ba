"""Records the outputs of a running cell: streams, results, pictures and errors, in order.

The size of the outputs is limited, so that they fit into one frame. Everything that affects a score
is kept: whether something was written to stderr, whether there was an error, and the text of a
result.
"""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

import torch

_MOST_TEXT = 50_000
_MOST_ENTRIES = 200
_LONGEST_RESULT = 1_000
_LONGEST_ERROR = 10_000
_MOST_IMAGES = 20
_LARGEST_IMAGE = 2 << 20
_IMAGES = ("image/png", "image/jpeg")
_SHORTENED = "\n[the rest of the output is left out]\n"


class Outputs:
    """The outputs of one cell, as dictionaries; the value of `kind` is the kind of output."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._left = _MOST_TEXT
        self._images = _MOST_IMAGES
        self._results = 0

    def stream(self, name: str, text: str) -> None:
        """Records text written to stdout or stderr."""
        entry = self._open_stream(name)
        if entry is None:
            entry = {"kind": "stream", "name": name, "text": ""}
            self.entries.append(entry)
        entry["text"] += self._taken(text)

    def display(self, data: Mapping[str, Any]) -> None:
        """Records something shown by `display` or by a plot."""
        shown = self._shown(data, 0)
        if shown and len(self.entries) < _MOST_ENTRIES:
            self.entries.append({"kind": "display", "data": shown})

    def result(self, data: Mapping[str, Any]) -> None:
        """Records the value of the cell's last expression."""
        self._results += 1
        if self._results <= _MOST_ENTRIES:
            reserved = _LONGEST_RESULT if self._results == 1 else 0
            self.entries.append({"kind": "result", "data": self._shown(data, reserved)})

    def error(self, name: str, text: str, lines: Sequence[str]) -> None:
        """Records an error that the cell raised."""
        trace = "\n".join(map(str, lines))
        if len(trace) > _LONGEST_ERROR:
            trace = f"{trace[: _LONGEST_ERROR // 2]}\n...\n{trace[-_LONGEST_ERROR // 2 :]}"
        entry = {"kind": "error", "name": name[:100], "text": text[:1000], "traceback": trace}
        self.entries.append(entry)

    def clear(self) -> None:
        """Removes all outputs except errors, for `clear_output`."""
        self.entries = [entry for entry in self.entries if entry["kind"] == "error"]

    def _open_stream(self, name: str) -> dict[str, Any] | None:
        """Returns the entry to which a stream's text must be added, or None for a new entry.

        Usually, only the last entry can be extended. However, if there are already too many
        entries, an earlier entry may also be extended.
        """
        last = self.entries if len(self.entries) >= _MOST_ENTRIES else self.entries[-1:]
        streams = (e for e in reversed(last) if e["kind"] == "stream" and e["name"] == name)
        return next(streams, None)

    def _taken(self, text: str) -> str:
        if self._left <= 0:
            return ""
        part = text[: self._left]
        self._left -= len(part)
        return part if self._left > 0 else part + _SHORTENED

    def _shown(self, data: Mapping[str, Any], reserved: int) -> dict[str, Any]:
        """Returns an output's plain text and pictures; other formats could run code in browsers."""
        shown: dict[str, Any] = {}
        if isinstance(text := data.get("text/plain"), str):
            shown["text/plain"] = text[:reserved] + self._taken(text[reserved:])
        for kind in _IMAGES:
            image = _decoded(data.get(kind))
            if 0 < len(image) <= _LARGEST_IMAGE and self._images > 0:
                self._images -= 1
                shown[kind] = torch.frombuffer(bytearray(image), dtype=torch.uint8)
        return shown


def _decoded(image: Any) -> bytes:
    """Returns a picture's bytes; IPython passes pictures as bytes or in base64."""
    if isinstance(image, bytes):
        return image
    with contextlib.suppress(ValueError):
        return base64.b64decode(image) if isinstance(image, str) else b""
    return b""


class Stream(io.TextIOBase):
    """Replaces `sys.stdout` or `sys.stderr` while a cell runs."""

    encoding = "UTF-8"

    def __init__(self, name: str, outputs: Outputs) -> None:
        self._name = name
        self._outputs = outputs

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            self._outputs.stream(self._name, text)
        return len(text)
