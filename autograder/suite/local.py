"""Defines an implementation in this process: the module of a solution or a student's answers."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from ..errors import AnswerFault, AnswerMemory, AnswerMissing, AnswerNotImplemented, AnswerRaised
from ..worker import execution, operator_watch, stepping, wire
from ..worker.execution import COPY
from .forbidden_calls import watched
from .implementation import PLAIN, GradientOptions, Gradients, Outcome, Step, WatchedCall
from .names import names_used


def load_module(path: Path, name: str | None = None) -> ModuleType:
    """Execute a Python file as a separate module; raise any error that the file raises."""
    name = name or f"_exercise_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def signature_of(implementation: object, name: str) -> str:
    """Return the signature of a question as text, such as `dropout(x, p, training=True)`."""
    found = implementation.namespace.get(name) if hasattr(implementation, "namespace") else None
    if not callable(found):
        return ""
    try:
        return f"{name}({_parameters_of(found)})"
    except (TypeError, ValueError):
        return ""


@lru_cache(maxsize=256)  # a test needs it for every call
def _parameters_of(function: Callable[..., Any]) -> str:
    parameters = inspect.signature(function).parameters.values()
    bare = (parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters)
    return ", ".join(map(str, bare))


class LocalImplementation:
    """An implementation whose answers are in the namespace of a module or a notebook."""

    def __init__(self, namespace: Mapping[str, Any], source: str = "") -> None:
        self.namespace = namespace
        self.text = source

    @classmethod
    def from_file(cls, path: Path) -> LocalImplementation:
        """Load the module in a file; raise any error that the file raises."""
        return cls(vars(load_module(path)), path.read_text(encoding="utf-8"))

    def call(self, name: str, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """See `Implementation.call`."""
        function = self._get(name)
        with _faults(name):
            value, after = execution.call(function, args, no_grad)
        return Outcome(value, tuple(after))

    def gradients(
        self, name: str, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """See `Implementation.gradients`."""
        function = self._get(name)
        with _faults(name):
            return _pulled(function, args, cotangent, options)

    def steps(self, name: str, steps: Sequence[Step], no_grad: bool = False) -> tuple[Any, ...]:
        """See `Implementation.steps`."""
        function, calls = self._get(name), [(step.args, step.after) for step in steps]
        with _faults(name):
            return tuple(stepping.steps(function, calls, no_grad))

    def operators(
        self, name: str, args: Sequence[Any], backward: bool, wanted: Sequence[str]
    ) -> WatchedCall:
        """See `Implementation.operators`."""
        function = self._get(name)

        def watch() -> tuple[list[str], Any]:
            with _faults(name):
                return operator_watch.operators(function, args, backward, wanted)

        return watched(watch, lambda: self.call(name, args))

    def names_used(self, name: str, is_wanted: Callable[[str], bool]) -> frozenset[str]:
        """See `Implementation.names_used`."""
        return frozenset(filter(is_wanted, names_used(self.text, name)))

    def build(self, name: str, args: Sequence[Any]) -> LocalLayer:
        """See `Implementation.build`."""
        factory = self._get(name)
        with _faults(name):
            layer = factory(*args)
        return LocalLayer(name, layer, lambda: factory(*args))

    def _get(self, name: str) -> Any:
        try:
            return self.namespace[name]
        except KeyError:
            raise AnswerMissing(f"{name} is not defined") from None


class LocalLayer:
    """A layer in this process. See `Layer`."""

    def __init__(self, name: str, layer: nn.Module, build: Callable[[], nn.Module]) -> None:
        self._name = name
        self.module = layer
        self._build = build

    def forward(self, args: Sequence[Any], no_grad: bool = False) -> Outcome:
        """See `Layer.forward`."""
        with _faults(self._name):
            value, after = execution.call(self.module, args, no_grad)
        return Outcome(value, tuple(after))

    def gradients(
        self, args: Sequence[Any], cotangent: Any, options: GradientOptions = PLAIN
    ) -> Gradients:
        """See `Layer.gradients`."""
        with _faults(self._name):
            return _pulled(self.module, args, cotangent, options)

    def steps(self, steps: Sequence[Step]) -> tuple[Any, ...]:
        """See `Layer.steps`."""
        calls = [(step.args, step.after) for step in steps]
        with _faults(self._name):
            return tuple(stepping.steps(self.module, calls))

    def weights(self) -> dict[str, torch.Tensor]:
        """See `Layer.weights`."""
        with _faults(self._name):
            return execution.weights(self.module)

    def load(self, weights: Mapping[str, torch.Tensor], way: str = COPY) -> None:
        """See `Layer.load`."""
        with _faults(self._name):
            execution.load(self.module, weights, way)

    def train(self, mode: bool) -> None:
        """See `Layer.train`."""
        with _faults(self._name):
            execution.set_mode(self.module, mode)

    def move(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> None:
        """See `Layer.move`."""
        with _faults(self._name):
            execution.move(self.module, dtype, device)

    def restored(self) -> LocalLayer:
        """See `Layer.restored`."""
        with _faults(self._name):
            layer = execution.restored(self.module, self._build)
        return LocalLayer(self._name, layer, self._build)


def _pulled(
    target: Any, args: Sequence[Any], cotangent: Any, options: GradientOptions
) -> Gradients:
    value, inputs, weights, *left = execution.gradients(target, args, cotangent, *options.request)
    return Gradients(value, tuple(inputs), weights, *map(tuple, left))


@contextlib.contextmanager
def _faults(name: str) -> Iterator[None]:
    try:
        yield
    except AnswerFault:
        raise
    except NotImplementedError as error:
        raise AnswerNotImplemented(f"{name} is not implemented yet") from error
    except MemoryError as error:
        raise AnswerMemory(f"{name}: {error}") from error
    except Exception as error:
        bases = tuple(base.__name__ for base in type(error).__mro__)
        raise AnswerRaised(
            f"{type(error).__name__}: {wire.error_text(error)}", type(error).__name__, bases
        ) from error
