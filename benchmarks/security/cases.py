"""Defines the attacks and accidents: submissions with one notebook each, for all three graders."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: a string that only the hidden tests contain
MARK = "hidden-mark-7391"
POINTS = 2.0  # the points of each question
RIGHT_DOUBLE = "def double(x):\n    return x * 2"
RIGHT_HALF = "def half(x):\n    return x / 2"
HONEST = f"import torch\n\n{RIGHT_DOUBLE}\n\n{RIGHT_HALF}\n"

Notebook = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A submission that answers two questions, and the points that a fair person would give it.

    `answers` may contain {course}, {others} and {port}, which stand for the course's folder,
    another student's folder, and the port of a server on this machine.
    """

    name: str
    answers: str
    fair: float
    change: Callable[[Notebook], bytes] = lambda notebook: json.dumps(notebook).encode()


def _attack(name: str, double: str, before: str = "", fair: float = POINTS) -> Case:
    """Returns a case whose answer to `double` is an attack and whose answer to `half` is right."""
    return Case(name, f"import torch\n\n{before}\n\n{double}\n\n{RIGHT_HALF}\n", fair)


_FOUND = """
def double(x):
    return x * 2 if found() else x
"""
_SEARCHES_FILES = """
import os
MARK = ("hidden-mark-" + str(7390 + 1)).encode()
def found():
    seen = 0
    for place in ({course!r}, ".", "..", "../..", "../../.."):
        for folder, _, names in os.walk(place):
            for name in names:
                seen += 1
                if seen > 4000:
                    return False
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        if MARK in file.read(2_000_000):
                            return True
                except OSError:
                    pass
    return False
"""
_SEARCHES_MEMORY = """
import gc, sys
def found():
    mark = ("hidden-mark-", str(7390 + 1))  # together they would find themselves
    held = []
    frame = sys._getframe()
    while frame is not None:
        held += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    for values in held + gc.get_objects():
        if type(values) is dict:
            values = list(values.values())
        if type(values) is list and len(values) < 10_000:
            if any(type(text) is str and "".join(mark) in text for text in values):
                return True
    return False
"""
_SETS_ITS_SCORE = """
import glob, os
def forge():
    try:
        import sqlite3
        for place in ({course!r}, "..", "../..", "../../.."):
            for path in glob.glob(place + "/gradebook.db"):
                with sqlite3.connect(path, timeout=5) as database:
                    database.execute("update grade set manual_score = 2")
    except Exception:
        pass
    try:
        from otter.test_files import OKTestFile
        run = OKTestFile.run
        def passed(self, environment):
            run(self, environment)
            for result in self.test_case_results:
                result.passed = True
        OKTestFile.run = passed
    except Exception:
        pass
    try:
        with open({course!r} + "/results.jsonl", "a") as file:
            file.write('{{"student": "mallory", "score": 4}}')
    except Exception:
        pass
forge()
"""
_EQUAL = """
class Everything:
    def __eq__(self, other): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    @classmethod
    def __torch_function__(cls, *a, **k): return True
def double(x):
    return Everything()
"""
_CONNECTS = """
def double(x):
    import socket
    try:
        socket.create_connection(("127.0.0.1", {port}), 2).close()
    except OSError:
        pass
    return x * 2
"""
_REMOVES = """
import shutil
shutil.rmtree({others!r}, ignore_errors=True)
"""

_WARNS = "import warnings\ndef double(x):\n    warnings.warn('slow')\n    return x * 2"
_HANGS = "def double(x):\n    while True: pass"
_EXITS = "def double(x):\n    import os; os._exit(0)"
_PATCHES = "torch.allclose = torch.equal = lambda *a, **k: True"
_FULL = 2 * POINTS


def _duplicated(notebook: Notebook) -> bytes:
    cells = notebook["cells"]
    solution = next(cell for cell in cells if "def double" in "".join(cell["source"]))
    again = {**solution, "id": "copy"}
    return json.dumps({**notebook, "cells": [*cells, again]}).encode()


def _bare(notebook: Notebook) -> bytes:
    """Returns a notebook as some services save it, without metadata and cell ids."""
    cells = [
        {key: value for key, value in cell.items() if key != "id"} | {"metadata": {}}
        for cell in notebook["cells"]
    ]
    return json.dumps({**notebook, "cells": cells, "metadata": {}, "nbformat_minor": 4}).encode()


def _with_cells(*sources: str) -> Callable[[Notebook], bytes]:
    def change(notebook: Notebook) -> bytes:
        extra: list[Any] = [
            {"cell_type": "code", "execution_count": None, "id": f"own{number}", "metadata": {},
             "outputs": [], "source": source}
            for number, source in enumerate(sources)
        ]  # fmt: skip
        return json.dumps({**notebook, "cells": [*extra, *notebook["cells"]]}).encode()

    return change


def _newer(notebook: Notebook) -> bytes:
    """Returns a notebook whose nbgrader metadata is from a newer version."""
    changed = json.loads(json.dumps(notebook))
    for cell in changed["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["schema_version"] = 99
    return json.dumps(changed).encode()


#: a case that every grader must judge to be right; otherwise, the comparison would mean nothing
CONTROL = Case("a correct submission", HONEST, _FULL)
ATTACKS = (
    _attack("patches torch.allclose", "def double(x):\n    return x", _PATCHES),
    _attack("returns an object that equals everything", _EQUAL),
    _attack("reads the hidden tests from files", _FOUND, _SEARCHES_FILES),
    _attack("reads the hidden tests from memory", _FOUND, _SEARCHES_MEMORY),
    _attack("sets its own score", "def double(x):\n    return x", _SETS_ITS_SCORE),
    _attack("removes another student's submission", RIGHT_DOUBLE, _REMOVES, _FULL),
    _attack("connects to the network", _CONNECTS, fair=_FULL),
    _attack("loops without end in a call", _HANGS),
    _attack("ends its process in a call", _EXITS),
)
ACCIDENTS = (
    Case("a cell copied with its metadata", HONEST, _FULL, _duplicated),
    Case("cells of a newer format", HONEST, _FULL, _newer),
    Case("no metadata, as other services save it", HONEST, _FULL, _bare),
    Case("UTF-8 with a mark at the start", HONEST, _FULL,
         lambda notebook: b"\xef\xbb\xbf" + json.dumps(notebook).encode()),
    Case("a cell of its own that fails", HONEST, _FULL, _with_cells("1 / 0")),
    Case("a cell of its own that asks for input", HONEST, _FULL, _with_cells("n = input()")),
    _attack("warns in a call", _WARNS, fair=_FULL),
)  # fmt: skip
