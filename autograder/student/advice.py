"""Gives advice about each kind of exception that students encounter.

The advice depends on the exception, not on the check in which it was raised.
"""

from __future__ import annotations

import contextlib
import re
import sys
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import FrameType, SimpleNamespace
from typing import Any

import torch
from torch import nn

from ..submission.near_names import closest
from ..suite import raised
from ..suite.local import signature_of

#: names that code often uses without importing them
_IMPORTS = {
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "math": "import math",
    "torch": "import torch",
    "functional": "from torch.nn import functional",
}
#: names from JSON and other languages
_IN_PYTHON = {
    "null": "`null` comes from a notebook's file: a module contains only its code, as text",
    "true": "Python writes it `True`",
    "false": "Python writes it `False`",
}
#: the packages that answers may import in grading: `sandbox.ALLOWED`, torch's requirements, and
#: this package, which stubs import
IN_GRADING = frozenset(
    ("autograder", "einops", "filelock", "fsspec", "jinja2", "mpmath", "networkx", "numpy")
    + ("setuptools", "sympy", "torch", "typing_extensions")
)
#: packages in `IN_GRADING` that a grader may lack, because neither this package nor torch requires
#: them, with advice on how to do without them
OPTIONAL_IN_GRADING = {"einops": "`torch.einsum`, `reshape` and `permute` can do what it does"}
_ANOTHER_QUESTION = (
    "`{}` is the answer to another question: if it is in this notebook or module, run its cell, or "
    "move it above this one. If not, write what you need here, because each exercise is graded on "
    "its own"
)
_ATTRIBUTES_LOOKED_AT = 2000
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class AdviceContext:
    """The facts about an answer on which advice depends, such as its question.

    `signatures` maps `<question>` and `<question>.forward` to the correct arguments as text;
    `source` is the line that raised the error, and `answer` is the object that has the question's
    name.
    """

    question: str = ""
    signatures: Mapping[str, str] = field(default_factory=dict)
    names: Iterable[str] = ()
    exercises: tuple[str, ...] = ()
    source: str = ""
    answer: object = None


def advice(error: BaseException, context: AdviceContext | None = None) -> str:
    """Returns advice about an exception, or an empty string if there is none."""
    context = context or AdviceContext()
    text = exception_text(error)
    specials = (_about_method, _about_name, _about_import, _about_signature, _about_call)
    for special in (*specials, _about_attribute, _about_linear):
        if remedy := special(error, context):
            return remedy
    return raised.advice_for(text, source=context.source)


def exception_text(error: BaseException) -> str:
    """Returns the exception as one short paragraph."""
    text = ""
    with contextlib.suppress(Exception):  # a student's `__str__` may fail
        text = str(error).strip()
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _about_method(error: BaseException, context: AdviceContext) -> str:
    """Returns advice about a class whose constructor or `forward` has nearly the right name."""
    if not isinstance(context.answer, type):
        return ""
    wanted = "forward" if '"forward" function' in exception_text(error) else "__init__"
    own = [name for name, value in vars(context.answer).items() if callable(value)]
    if wanted in own or (wanted == "__init__" and not isinstance(error, TypeError)):
        return ""
    near = next((name for name in own if name.strip("_").lower() == wanted.strip("_")), "")
    near = near or closest(wanted, own) or ""
    return f"the method `{near}` is never called: its name must be `{wanted}`" if near else ""


def _about_name(error: BaseException, context: AdviceContext) -> str:
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError):
        return ""
    name = error.name or ""
    if not name:  # from a failed statement at the top level; its text names it
        return ""
    if name in _IMPORTS:
        but = ". Better yet, stick with torch: NumPy can't carry gradients" if name == "np" else ""
        return f"`{name}` is not imported: add `{_IMPORTS[name]}` above{but}"
    if name in _IN_PYTHON:
        return _IN_PYTHON[name]
    if name in context.signatures:
        return _ANOTHER_QUESTION.format(name)
    local = _local_values(error)
    with contextlib.suppress(Exception):  # a student's `__getattr__` may fail
        if hasattr(local.get("self"), name):
            return f"`{name}` belongs to the layer: write `self.{name}`"
    known = [*local, *context.names]
    if near := closest(name, [other for other in known if other != name]):
        return f"`{name}` is not defined; did you mean `{near}`?"
    return (
        f"`{name}` is not defined where it is used: is it spelled the same way where it gets its "
        "value? A module or a notebook must define or import everything that it uses"
    )


def _about_linear(error: BaseException, context: AdviceContext) -> str:
    """Returns advice about an `nn.Linear` that gets an input of the wrong size."""
    frames = _frames(error)
    owners = [frame.f_locals.get("self") for frame in frames]
    if not owners or not isinstance(error, RuntimeError) or not isinstance(owners[-1], nn.Linear):
        return ""
    layer, given = owners[-1], frames[-1].f_locals.get("input")
    if not isinstance(given, torch.Tensor) or not given.dim():
        return ""
    if given.shape[-1] == layer.in_features:
        return ""
    modules = [owner for owner in owners[:-1] if isinstance(owner, nn.Module)]
    known = (name for owner in modules for name, one in owner.named_modules() if one is layer)
    name = next(filter(None, known), "")
    return (
        f"{f'`self.{name}`' if name else 'this layer'} is nn.Linear({layer.in_features}, "
        f"{layer.out_features}), which takes {layer.in_features} entries per token, but its input "
        f"has {given.shape[-1]}: compare the sizes in `__init__`, and their order, with those "
        "in the docstring"
    )


def _frames(error: BaseException) -> list[FrameType]:
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def _local_values(error: BaseException) -> dict[str, Any]:
    """Returns the names and values of the local variables where an error was raised."""
    frames = _frames(error)
    return dict(frames[-1].f_locals) if frames else {}


def _about_import(error: BaseException, context: AdviceContext) -> str:
    if not isinstance(error, ImportError):
        return ""
    module = error.name or ""
    name = module.partition(".")[0]
    if name in context.exercises:
        return (
            "each exercise is graded on its own: do not import another exercise; write "
            "what you need here"
        )
    if name != module or not isinstance(error, ModuleNotFoundError):
        return ""  # the package is installed; the error names what it lacks
    where = "installed here" if is_in_grading(name) else "available when your work is graded"
    return f"`{name}` is not {where}; answers need only torch and the standard library"


def is_in_grading(module: str) -> bool:
    """Returns whether answers may import a top-level module during grading."""
    return module in IN_GRADING or module in sys.stdlib_module_names


def _about_signature(error: BaseException, context: AdviceContext) -> str:
    """Returns advice about wrong arguments of the question's own function or method."""
    match = re.match(
        r"\w+: (?:(\w+)\.)?(\w+)\(\) (takes|missing|got an unexpected|got multiple)",
        exception_text(error),
    )
    if not isinstance(error, TypeError) or not match or not context.question:
        return ""
    owner, function = match.group(1), match.group(2)
    if function not in (context.question, "forward", "__init__", "<lambda>"):
        return ""
    if owner not in (None, context.question):
        return ""
    key = f"{context.question}.forward" if function == "forward" else context.question
    signature = context.signatures.get(key)
    right = f"`{signature}`" if signature else "as in the stub"
    slip = " (is `self` the first argument?)" if function in ("forward", "__init__") else ""
    return f"the arguments are given by the exercise, so keep them: {right}{slip}"


def _about_call(error: BaseException, context: AdviceContext) -> str:
    """Returns advice about a wrong call to another class or function, with its signature."""
    text = exception_text(error)
    match = re.match(r"TypeError: (?:(\w+)\.)?(\w+)\(\) (?:takes|missing) [^\"]*$", text)
    if not match:
        return ""
    name = match.group(1) or match.group(2)
    signature = signature_of(SimpleNamespace(namespace=_globals(error)), name)
    return (
        f"compare your call with `{signature}`: are all arguments there, in this order?"
        if signature
        else ""
    )


def _globals(error: BaseException) -> Mapping[str, Any]:
    """Returns the names and values of the global variables where an error was raised."""
    frames = _frames(error)
    return frames[-1].f_globals if frames else {}


def _about_attribute(error: BaseException, context: AdviceContext) -> str:
    if not isinstance(error, AttributeError) or not error.name or error.obj is None:
        return ""
    if isinstance(error.obj, tuple | list):
        return ""
    known = [name for name in _attributes(error.obj) if not name.startswith("__")]
    if near := closest(error.name, known):
        return f"there is no `{error.name}`; did you mean `{near}`?"
    return ""


def _attributes(value: Any) -> list[str]:
    names = [*getattr(value, "_modules", ()), *getattr(value, "_parameters", ())]
    try:
        return [*names, *dir(value)][:_ATTRIBUTES_LOOKED_AT]
    except Exception:  # a student's `__dir__` may fail
        return names
