"""Implements `trace`, which shows the shapes in each line of a function during a failing call.

The first line whose shape differs from the documented shape is marked. The docstring gives the
shapes of the arguments and the result; the student's own comments (`# (B, T, d)`) give the shapes
in the lines in between. Tracing runs only on demand, because `sys.settrace` makes Python many times
slower.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from ..worker import execution
from .advice import exception_text
from .last_call import RecordedCall
from .own_lines import Locate
from .quiet_output import LimitedOutput, quiet
from .shapes import Letters, Shape, commented_shape, documented_arguments, documented_result
from .time_limit import SECONDS, CheckTimeout, limited

#: the most lines to show for one call
_MOST_LINES = 60
_MARK = "<-- "


@dataclass(slots=True)
class Line:
    """A line that ran, and the shapes of the values that it assigned.

    The shapes are keyed by the variable's name; the key None stands for the function's result.
    """

    number: int
    shapes: dict[str | None, Any] = field(default_factory=dict)
    times: int = 1


@dataclass(slots=True)
class Run:
    """One run of a student's function: the arguments, and the lines in the order they last ran."""

    code: CodeType
    arguments: dict[str | None, Any]
    docstring: str
    numbers: dict[str, int]
    lines: list[Line] = field(default_factory=list)


def traced(step: RecordedCall, namespace: Mapping[str, Any], locate: Locate) -> str:
    """Repeats a recorded call; returns the lines that ran, with the shapes in each line."""
    recorder = _Recorder(namespace)
    ended = ""
    with quiet(LimitedOutput()):
        try:
            with limited(SECONDS):
                _call(step, namespace, recorder)
        except (Exception, SystemExit) as error:
            ended = (
                f"stops here: {exception_text(error)}"
                if not isinstance(error, CheckTimeout)
                else str(error)
            )
    text = "\n\n".join(_text(run, locate) for run in recorder.runs)
    return (
        "\n".join(part for part in (text, ended) if part) or "none of your lines ran in this call"
    )


def _call(step: RecordedCall, namespace: Mapping[str, Any], recorder: _Recorder) -> None:
    function = namespace[step.question]
    if step.built is not None:
        if not step.args:
            with recorder.on():
                function(*step.built)
            return
        function = function(*step.built)
        function.train(not step.is_eval)
        tensors = [argument for argument in step.args if isinstance(argument, torch.Tensor)]
        if real := [tensor.dtype for tensor in tensors if tensor.is_floating_point()]:
            function.to(real[0])  # the dtype of the check
    copies = [execution.copy_of(argument) for argument in step.args]
    with recorder.on():
        function(*copies)


class _Recorder:
    """Traces the first call of each function that is defined in the student's code."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self.runs: list[Run] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Traces functions that are called within the block."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        known = any(run.code is code for run in self.runs)
        if frame.f_globals is not self._namespace or known or code.co_name.startswith("<"):
            return None
        run = Run(code, _shapes(frame.f_locals), _docstring(frame), _sizes(frame))
        self.runs.append(run)
        return _follow(run, dict(frame.f_locals))


def _follow(run: Run, before: dict[str, Any]) -> Callable[[FrameType, str, Any], Any]:
    """Returns a trace function that attributes each changed variable to the line that just ran."""

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        now = dict(frame.f_locals)
        if run.lines:
            changed = {k: v for k, v in now.items() if before.get(k, _NOTHING) is not v}
            run.lines[-1].shapes.update(_shapes(changed))
        before.clear()
        before.update(now)
        if event == "line":
            _add(run, frame.f_lineno)
        elif event == "return" and run.lines and (shape := _shape(argument)) is not None:
            run.lines[-1].shapes[None] = shape
        return local

    return local


_NOTHING = object()


def _add(run: Run, number: int) -> None:
    """Records a line; a line that runs several times in a loop is shown once."""
    for line in run.lines:
        if line.number == number:
            line.times += 1
            run.lines.remove(line)
            run.lines.append(line)
            return
    run.lines.append(Line(number))


def _shapes(values: Mapping[str, Any]) -> dict[str | None, Any]:
    found = {name: _shape(value) for name, value in values.items()}
    return {name: shape for name, shape in found.items() if shape is not None}


def _shape(value: Any) -> Any:
    """Returns a tensor's shape, or the shapes in a tuple or list of tensors, otherwise None."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    if isinstance(value, tuple | list) and value and all(_shape(item) for item in value[:9]):
        return [_shape(item) for item in value[:9]]
    return None


def _sizes(frame: FrameType) -> dict[str, int]:
    """Returns the integers among a function's local variables and its layer's attributes."""
    own = getattr(frame.f_locals.get("self"), "__dict__", {})
    both = {**own, **frame.f_locals}
    return {name: value for name, value in both.items() if type(value) is int}


def _docstring(frame: FrameType) -> str:
    constant = frame.f_code.co_consts[:1]
    return inspect.cleandoc(constant[0]) if constant and isinstance(constant[0], str) else ""


def _text(run: Run, locate: Locate) -> str:
    letters = Letters(run.numbers)
    documented = documented_arguments(run.docstring)
    for name, shape in run.arguments.items():
        if name is not None and name in documented and isinstance(shape, tuple):
            letters.fits(documented[name], shape)
    where, _ = locate(run.code.co_filename, run.code.co_firstlineno)
    given = ", ".join(f"{name} {shape}" for name, shape in run.arguments.items())
    lines = [f"{run.code.co_name}, {where}" + f":  {given}" * bool(given)]
    marked = False
    for line in sorted(run.lines, key=lambda item: item.number)[:_MOST_LINES]:
        _, source = locate(run.code.co_filename, line.number)
        wrong = "" if marked else _difference(line, source, letters, run.docstring)
        marked = marked or bool(wrong)
        lines += _line(line, source.strip(), wrong)
    return "\n".join(lines)


def _line(line: Line, source: str, wrong: str) -> list[str]:
    shapes = ", ".join(f"{name or 'result'} {_plain(s)}" for name, s in line.shapes.items())
    times = f" ({line.times} times)" if line.times > 1 else ""
    shown = [f"  {line.number:>4}  {source}{times}"]
    shown += [f"        {shapes}"] * bool(shapes)
    return shown + [f"        {_MARK}{wrong}"] * bool(wrong)


def _plain(shape: Any) -> str:
    return str(shape) if isinstance(shape, tuple) else ", ".join(map(_plain, shape))


def _difference(line: Line, source: str, letters: Letters, docstring: str) -> str:
    """Returns a sentence about the shape that a line should have, or "" if its shape is right."""
    shapes = [shape for shape in line.shapes.values() if isinstance(shape, tuple)]
    if not shapes:
        return ""
    for who, written in (
        ("the docstring", documented_result(docstring) if None in line.shapes else None),
        ("your comment", commented_shape(source)),
    ):
        shape: Shape = shapes[-1]
        if written and not letters.fits(written, shape):
            return f"{who} says {written}, here {letters.numbers(written)}"
    return ""
