"""Which statements of a notebook make the module, and in which order they are executed."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest

from autograder.errors import SubmissionError
from autograder.submission import module_of_notebook
from autograder.submission.cells import read_cells
from autograder.submission.closure import needed


def module(*cells: str, names: tuple[str, ...] = ("f",)) -> Any:
    document = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    return module_of_notebook(json.dumps(document).encode(), names)


def value(*cells: str) -> object:
    """What `f()` gives in the module."""
    namespace: dict[str, Any] = {}
    exec(compile(module(*cells).text, "module", "exec", dont_inherit=True), namespace)
    return namespace["f"]()


VALUES: dict[str, tuple[tuple[str, ...], object]] = {
    "last_definition": (("def f(): return 1", "def f(): return 2"), 2),
    "lambda_after_a_def": (("def f(): return 1", "f = lambda: 2"), 2),
    "def_after_a_lambda": (("f = lambda: 2", "def f(): return 1"), 1),
    "result_does_not_shadow": (("def f(): return 1", "f = f()"), 1),
    "alias": (("def f(): return 1", "def g(): return 2", "f = g"), 2),
    "alias_of_a_value": (("def f(): return 1", "g = 2", "f = g"), 1),
    "wrapped": (("def f(): return 1", "def w(g): return lambda: g() + 1", "f = w(f)"), 2),
    "wrapped_twice": (
        ("def f(): return 1", "def w(g): return lambda: g() + 1", "f = w(f)", "f = w(f)"),
        3,
    ),
    "helper_later": (("def f(): return g()", "def g(): return K", "K = 3"), 3),
    "executed_helper_later": (("K = g()", "def f(): return K", "def g(): return C", "C = 4"), 4),
    "comprehension": (
        ("T = [g(i) for i in range(2)]\ndef f(): return T", "g = lambda i: i"),
        [0, 1],
    ),
    "default": (("def f(x=g()): return x", "def g(): return 5"), 5),
    "decorator": (("@w\ndef f(): return 1", "def w(g): return lambda: g() + 1"), 2),
    "class_body": (("def f(): return A.x", "class A:\n    x = K", "K = 6"), 6),
    "base_class": (
        ("def f(): return B().g()", "class B(A): pass", "class A:\n def g(s): return 7"),
        7,
    ),
    "class_in_parts": (
        ("class A: pass\ndef f(): return A().g()", "class A(A):\n def g(s): return 8"),
        8,
    ),
    "patch": (("class A: pass\ndef f(): return A().g()", "def g(s): return 9\nA.g = g"), 9),
    "patch_in_a_loop": (("T = {}\nfor i in range(3):\n    T[i] = i", "def f(): return T[2]"), 2),
    "append": (("T = []", "T.append(4)", "def f(): return T[0]"), 4),
    "counter": (("K = 1", "K += 1", "def f(): return K"), 2),
    "added_in_order": (
        ("T = []", "T.append('a')", "T += 'b'", "T.extend('cd')", "def f(): return ''.join(T)"),
        "abcd",
    ),
    "added_in_cells_of_any_order": (
        ("def f(): return T", "T['a'] = 1", "T = {}", "T.update(b=2)"),
        {"a": 1, "b": 2},
    ),
    "joined_anew": (("T = [1]", "T.append(2)", "T = T + [3]", "def f(): return T"), [1, 2, 3]),
    "registered": (
        ("T = {}\ndef w(g):\n T[g.__name__] = g\n return g", "@w\ndef g(): return 1")
        + ("def f(): return T['g']()",),
        1,
    ),
    "registered_in_order": (
        ("T = []\ndef w(g): T.append(g)", "@w\ndef a(): return 1", "@w\ndef b(): return 2")
        + ("def f(): return [g() for g in T]",),
        [1, 2],
    ),
    "registered_under_a_name": (
        ("T = {}\ndef w(k):\n def put(g):\n  T[k] = g\n  return g\n return put",)
        + ("@w('a')\ndef g(): return 1", "def f(): return T['a']()"),
        1,
    ),
    "registered_by_a_call": (
        ("T = []", "def w(g): T.append(g)", "w(lambda: 3)", "def f(): return T[0]()"),
        3,
    ),
    "registered_by_an_object": (
        ("class R(list):\n def put(s, g):\n  s.append(g)\n  return g\nr = R()",)
        + ("@r.put\ndef g(): return 4", "def f(): return r[0]()"),
        4,
    ),
    "dispatched": (
        ("import functools\n@functools.singledispatch\ndef g(x): return 0",)
        + ("@g.register\ndef _(x: int): return 5", "def f(): return g(1)"),
        5,
    ),
    "patched_by_annotation": (
        ("def w(g):\n setattr(g.__annotations__['self'], g.__name__, g)\n return g",)
        + ("class A: pass", "@w\ndef g(self: A): return 6", "def f(): return A().g()"),
        6,
    ),
    "match": (
        ("mode = 1\nmatch mode:\n case 1:\n  def g(): return 7\n case _:\n  g = None",)
        + ("def f(): return g()",),
        7,
    ),
    "guarded": (
        ('if __name__ == "__main__":\n    K = 1\n    def g(): return K', "def f(): return g()"),
        1,
    ),
    "set_by_a_call": (
        ("def g():\n    global K\n    K = 2", "g()", "def f(): return K"),
        2,
    ),
    "hung_on_a_library": (
        ("import fractions", "def g(s): return 8\nfractions.Fraction.g = g")
        + ("def h(): return fractions.Fraction(1)", "def f(): return h().g()"),
        8,
    ),
    "hung_on_what_is_not_named": (
        ("import fractions", "def g(s): return 9\nfractions.Fraction.g = g")
        + ("from fractions import Fraction as F", "def f(): return F(1).g()"),
        9,
    ),
    "written_out": (("globals()['K'] = 3", "def f(): return K"), 3),
    "named_on_the_way": (("print(K := 3)", "def f(): return K"), 3),
    "same_name_in_a_class": (
        ("def g(s): return 4", "class A:\n    g = g", "def f(): return A().g()"),
        4,
    ),
    "own_name_in_a_class": (
        ("x = 1 / 0", "class A:\n    x = 5\n    y = x", "def f(): return A.y"),
        5,
    ),
    "tuple": (("a, b = 1, 2", "def f(): return b"), 2),
    "with": (
        ("import contextlib\nwith contextlib.nullcontext(3) as K: pass", "def f(): return K"),
        3,
    ),
    "if_else": (("if True:\n    def g(): return 1\nelse:\n    g = None", "def f(): return g()"), 1),
    "try_import": (
        ("try:\n    import nothere as m\nexcept ImportError:\n    m = 2", "def f(): return m"),
        2,
    ),
    "imported_and_later_counted_with": (
        ("import math as t", "def f(): return t.floor(3.5)", "for t in range(2): pass"),
        3,
    ),
    "imported_and_bound_anew_above": (("from math import pi", "pi = 3", "def f(): return pi"), 3),
    "imported_again": (("t = 5", "import math as t", "def f(): return t.floor(3.5)"), 3),
    "imported_for_one_and_bound_anew_for_the_other": (
        ("from math import pi", "def g(): return pi", "pi = 3", "def f(): return pi, g()"),
        (3, 3),
    ),
    "imported_below_and_called_above": (
        ("K = g()", "import math as t", "def g(): return t.floor(3.5)", "t = 1")
        + ("def f(): return K",),
        3,
    ),
    "submodules": (("import os.path\nimport os", "def f(): return os.path.sep"), "/"),
    "recursion": (("def f(n=2): return 0 if not n else f(n - 1)",), 0),
    "two_of_one_name": (
        (
            "class A: pass\nclass B: pass",
            "def g(s): return 1\nA.g = g",
            "def g(s): return 2\nB.g = g",
        )
        + ("def f(): return A().g(), B().g()",),
        (1, 2),
    ),
    "semicolons": (("a = 1; b = 2; K = a + b", "def f(): return K"), 3),
    "umlauts": (("ü = 'ä'; K = ü", "def f(): return K"), "ä"),
    "multi_line_string": (('K = """a\n  %b\n!c"""', "def f(): return K"), "a\n  %b\n!c"),
    "future": (("def f(x: nothere = 1): return x", "from __future__ import annotations"), 1),
}


@pytest.mark.parametrize("case", VALUES)
def test_the_module_computes_what_the_notebook_means(case: str) -> None:
    cells, expected = VALUES[case]
    assert value(*cells) == expected


@pytest.mark.parametrize(
    "cell",
    ["x = 1 / 0", "print(f())", "import matplotlib", "f().plot()", "f.x()", "while True: f()"],
)
def test_experiments_stay_out(cell: str) -> None:
    assert module("def f(): return 1", cell).text.strip() == "def f(): return 1"


def test_what_only_counts_its_calls_needs_none_of_them() -> None:
    cells = ("n = 0\ndef f():\n    global n\n    n += 1\n    return n", "f()", "print(f())")
    assert module(*cells).text == "n = 0\n\n" + cells[0].partition("\n")[2] + "\n"


def test_a_setting_of_a_library_that_no_answer_reads_stays_out() -> None:
    cells = ("import torch", "torch.backends.cudnn.deterministic = True", "def f(): return 1")
    assert "deterministic" not in module(*cells).text


def test_what_another_library_decorates_is_not_needed_by_all_who_use_it() -> None:
    cells = ("import functools", "@functools.cache\ndef g(): return 1", "@functools.cache")
    assert "def g" not in module(*cells[:2], f"{cells[2]}\ndef f(): return 2").text


def test_comments_inside_a_decorated_answer_stay() -> None:
    text = module("import functools\n@functools.cache  # once\ndef f():\n    return 1  # why").text
    assert "# once" in text
    assert "functools" in text


def test_a_broken_statement_costs_only_its_own_name() -> None:
    found = module("def g(a, a): pass\ndef f(): return 1", names=("f", "g"))
    assert list(found.broken) == ["g"]
    assert "duplicate argument" in found.broken["g"]
    assert "def f" in found.text


def test_two_imports_in_one_line_do_not_fail_together() -> None:
    text = module("import math, nothere\ndef f(): return math.pi, nothere").text
    assert "import math\n" in text
    assert "import math, nothere" not in text


def test_answers_that_need_too_many_statements_are_refused() -> None:
    with pytest.raises(SubmissionError, match="statements"):
        module("x = 1\n" * 4000 + "def f(): return x")
    assert "x" not in module("x = 1\n" * 4000 + "def f(): return 1").text


def test_a_notebook_that_was_read_is_let_go() -> None:
    statements = read_cells(["def f(): return g()", "def g(): return 1"])[0].statements
    assert needed(statements, ["f"])
    kept = weakref.ref(statements[0])
    del statements
    gc.collect()
    assert kept() is None
