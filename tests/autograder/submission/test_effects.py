"""What changes an object that an answer needs is kept, whoever changes it; experiments are not."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from autograder.submission.notebook import module_of_notebook
from autograder.submission.places import Places

_PUT = "def put(m, name, value):\n    m[name] = value"
_ANSWER = "def f():\n    return M['a']"

KEPT = {
    "a function fills what it is given": ["def put(m):\n    m['a'] = 1", "M = {}", "put(M)"],
    "by a keyword": ["def put(*, m):\n    m['a'] = 1", "M = {}", "put(m=M)"],
    "a function fills a name outside": ["M = {}", "def put():\n    M['a'] = 1", "put()"],
    "by way of another function": [
        *("M = {}", "def inner():\n    M['a'] = 1", "def outer():\n    inner()", "outer()"),
    ],
    "its result is kept": ["M = {}", "def put():\n    M['a'] = 1\n    return 2", "n = put()"],
    "a lambda": ["M = {}", "put = lambda k: M.__setitem__(k, 1)", "put('a')"],
    "a function sets a global name again": [
        *("M = None", "def make():\n    global M\n    M = {'a': 1}", "make()"),
    ],
    "another name of the object": ["M = {}", "c = M", "c['a'] = 1"],
    "the name of a loop": ["M, N = {}, {}", "for one in (M, N):\n    one['a'] = 1"],
    "a method of its own class": [
        "class Table(dict):\n    def learn(self, name):\n        self[name] = 1",
        *("M = Table()", "M.learn('a')"),
    ],
    "an object is the decorator": [
        "class Table(dict):\n    def __call__(self, f):\n        self[f.__name__] = 1\n"
        "        return f",
        *("M = Table()", "@M\ndef a():\n    pass"),
    ],
    "a class is the decorator": [
        "M = {}",
        "class add:\n    def __init__(self, name):\n        self.name = name\n"
        "    def __call__(self, f):\n        M[self.name] = 1",
        "@add('a')\ndef g():\n    pass",
    ],
    "a function in two steps": [
        "M = {}",
        "def add(name):\n    def to(value):\n        M[name] = value\n    return to",
        "add('a')(1)",
    ],
    "subclasses register themselves": [
        "M = {}",
        "class Base:\n    def __init_subclass__(cls):\n        M[cls.__name__] = 1",
        *("class Middle(Base):\n    pass", "class a(Middle):\n    pass"),
    ],
    "a metaclass registers": [
        "M = {}",
        "class Meta(type):\n    def __init__(cls, name, bases, own):\n        M[name] = 1",
        "class a(metaclass=Meta):\n    pass",
    ],
    "a class asks for its subclasses": [
        *("class Base:\n    pass", "class a(Base):\n    pass"),
        "class M:\n    def __class_getitem__(cls, name):\n"
        "        return [1 for c in Base.__subclasses__() if c.__name__ == name][0]",
    ],
    "a context manager": [
        "M = {}",
        "class On:\n    def __enter__(self):\n        M['a'] = 1\n"
        "    def __exit__(self, *error):\n        pass",
        "with On():\n    pass",
    ],
    "an element is taken out": ["M = {'a': 1, 'b': 2}", "M.pop('b')", "assert len(M) == 1"],
    "a pattern": ["match {'m': {'a': 1}}:\n    case {'m': M}:\n        pass"],
    "the name of a loop was an experiment's": [
        *("for i in range(2):\n    print(f, i)", "M = {}", _PUT),
        "for i, name in enumerate(['a']):\n    put(M, name, i + 1)",
    ],
    "a name held what an answer made": [
        *("x = str(f)", "M = {}", _PUT, "x = 1", "put(M, 'a', x)"),
    ],
    "a name is bound anew in a block": [
        *("x = str(f)", "M = {}", _PUT, "for i in 'a':\n    x = 1\n    put(M, i, x)"),
    ],
    "a name on the way of a loop": ["for one in (M := {'a': 1}):\n    pass"],
}


def _module(cells: list[str], answer: str = _ANSWER) -> str:
    book: dict[str, Any] = {
        "cells": [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
            for source in [*cells, answer]
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    return module_of_notebook(json.dumps(book).encode(), ["f"]).text


@pytest.mark.parametrize("cells", KEPT.values(), ids=KEPT)
def test_what_changes_a_needed_object_is_executed(cells: list[str]) -> None:
    names: dict[str, Any] = {"__name__": "answers"}
    exec(_module(cells), names)
    assert names["f"]() == 1


def test_changes_in_place_of_tensors_are_executed() -> None:
    text = _module(["import torch", "M = torch.zeros(2)", "M.fill_(1)", "torch.neg(M, out=M)"])
    assert "fill_" in text
    assert "out=M" in text


EXPERIMENTS = {
    "training reads the configuration": ["def train(m):\n    print(m['a'])", "train(M)"],
    "a method reads it": [
        "class Trainer:\n    def __init__(self, m):\n        self.m = m\n"
        "    def run(self):\n        self.step = 1",
        *("train = Trainer(M)", "train.run()"),
    ],
    "the answer is called": ["def log(m, x):\n    m['b'] = x", "log(M, train := f())"],
    "what was made with it": [_PUT, "train = f()", "train += 1", "put(M, 'b', train)"],
    "what was made with it in a loop": [
        *(_PUT, "for x in 'ab':\n    train = f()\n    put(M, 'b', train)"),
    ],
    "by a function": ["def train(m):\n    m['b'] = f()", "train(M)"],
}


@pytest.mark.parametrize("cells", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_what_only_uses_a_needed_object_is_left_out(cells: list[str]) -> None:
    assert "train" not in _module(["M = {'a': 1}", *cells])


def test_what_binds_a_name_is_executed_before_what_changes_it() -> None:
    cells = [
        "from __future__ import annotations",
        "f = Base()",
        "class Base:\n    made: list[Base] = []\n    def __init__(self):\n"
        "        Base.made.append(self)",
    ]
    text = _module(cells, "")
    assert text.index("class Base") < text.index("f = Base()")


def test_names_of_one_object_are_followed_only_so_far() -> None:
    text = "\n".join(f"x{number + 1} = x{number}" for number in range(1_000))
    assert len(Places(ast.parse(text).body).roots(ast.Name("x1000"))) <= 50


def test_what_binds_a_name_first_waits_for_nothing_that_has_it() -> None:
    cells = [
        "with open('/dev/null'):\n    b = 0\n    for one in (1, 2):\n        b += one",
        "M = {'a': 1, 'b': b}",
        "b = f()\nfor one in [b]:\n    M.setdefault('c', one)",
    ]
    text = _module(cells)
    assert text.index("with") < text.index("M = ") < text.index("for one in [b]")


def test_a_loop_brings_no_other_loop_with_it() -> None:
    loops = ["for epoch in range(10**9):\n    print(epoch)", "for epoch in 'a':\n    M[epoch] = 1"]
    text = _module(["M = {}", *loops])
    assert "'a'" in text
    assert "10**9" not in text


@pytest.mark.parametrize(
    "block",
    [
        "if M:\n    {}",
        "while M:\n    {}\n    break",
        "for one in M:\n    {}",
        "try:\n    {}\nexcept KeyError:\n    pass",
        "match M:\n    case []:\n        {}",
    ],
)
def test_what_a_block_may_leave_out_has_its_value_from_before(block: str) -> None:
    text = _module(["value = 1", "M = {}", block.format("value = 2") + "\nM['a'] = value"])
    assert "value = 1\n" in text
