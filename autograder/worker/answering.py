"""Executes a student's module in a worker, and answers each request with one frame.

This code runs inside the sandbox. The grader trusts no reply: it decodes every reply as hostile
data, and makes all comparisons in its own process.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import torch

from . import (
    execution,
    late,
    loading,
    operator_watch,
    statements,
    stepping,
    substitution,
    wire,
)

_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "Cannot allocate memory")
_TRACEBACK_LINES = 6

#: an operation's name, and its arguments
Request = tuple[Any, ...]


class NotDefined(Exception):
    """Raised for a name that the module does not define."""


class Worker:
    """A student's module, and the layers that were built from it."""

    def __init__(
        self,
        exchange: substitution.Exchange,
        others: Mapping[str, Callable[..., Any]] | None = None,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        """`others` contains additional operations; `names` are the module's initial variables."""
        self._exchange = exchange
        self._module = ModuleType("submission")
        vars(self._module).update(names or {})
        #: the layers, by the numbers that the grader has given them
        self._layers: dict[int, Any] = {}
        self._builds: dict[int, Callable[[], Any]] = {}
        self._settings = settings()
        self.operations: dict[str, Callable[..., Any]] = {
            "load": self._load,
            "seed": lambda seed: self._settings.begin(seed),
            "call": lambda name, *rest: _called(self._get(name), *rest),
            "gradients": lambda name, *rest: execution.gradients(self._get(name), *rest),
            "steps": lambda name, *rest: stepping.steps(self._get(name), *rest),
            "operators": lambda name, *rest: operator_watch.operators(self._get(name), *rest),
            "build": self._build,
            "forward": lambda layer, *rest: _called(self._layers[layer], *rest),
            "layer_gradients": lambda layer, *rest: execution.gradients(self._layers[layer], *rest),
            "layer_steps": lambda layer, *rest: stepping.steps(self._layers[layer], *rest),
            "weights": lambda layer: execution.weights(self._layers[layer]),
            "load_weights": lambda layer, *rest: execution.load(self._layers[layer], *rest),
            "train": lambda layer, mode: execution.set_mode(self._layers[layer], mode),
            "move": self._move,
            "restore": self._restore,
            **(others or {}),
        }

    def _load(
        self,
        name: str,
        source: str,
        seed: int,
        parts: Sequence[tuple[str, str, list[str]]] = (),
        answers: Sequence[str] = (),
        limits: Sequence[float] | None = None,
        substituted: Sequence[str] = (),
    ) -> list[str]:
        """Executes the module, which may import `parts`; returns the names that it defines.

        `answers` names the functions and classes that answer the exercise's questions; for
        `limits`, see `loading.Timer`. Calls to the functions in `substituted` are sent to the
        grader, which returns the results.
        """
        late.load_if_named(source)
        if parts:
            install_parts(parts)
        # `torch.manual_seed` would first look for accelerators
        torch.default_generator.manual_seed(seed)
        file = f"{name}.py"
        self._module.__name__, self._module.__file__ = name, file
        sys.modules[name] = self._module
        if statements.SHOWS in source:
            setattr(builtins, statements.SHOWS, statements.SilentDisplay())
        with contextlib.ExitStack() as bounds:
            timer = None
            if limits is not None:
                bounds.enter_context(loading.without_output())
                timer = bounds.enter_context(loading.Timer(*limits).installed())
            stand_ins = {one: self._stand_in(one) for one in substituted}
            statements.execute(source, file, vars(self._module), answers, timer, stand_ins)
        torch.set_grad_enabled(True)  # the module may have turned it off
        self._settings = settings()
        return [name for name in vars(self._module) if not name.startswith("__")]

    def _stand_in(self, name: str) -> Callable[[Any], Any]:
        return lambda own: substitution.stand_in(name, own, self._exchange)

    def _get(self, name: str) -> Any:
        try:
            return vars(self._module)[name]
        except KeyError:
            raise NotDefined(name) from None

    def _build(self, layer: int, name: str, args: list[Any]) -> None:
        def build() -> Any:
            return self._get(name)(*args)

        self._keep(layer, build, build)

    def _restore(self, layer: int, other: int) -> None:
        build = self._builds[layer]
        self._keep(other, lambda: execution.restored(self._layers[layer], build), build)

    def _keep(self, number: int, make: Callable[[], Any], build: Callable[[], Any]) -> None:
        self._layers.pop(number, None)  # keep no layer if it can't be built
        self._layers[number] = make()
        self._builds[number] = build

    def _move(self, layer: int, dtype: str | None, device: str | None) -> None:
        kind = getattr(torch, dtype) if dtype else None
        execution.move(self._layers[layer], kind, device)


def _called(
    function: Callable[..., Any], args: Sequence[Any], no_grad: bool = False
) -> tuple[Any, Any]:
    """Returns a call's result, and the arguments after the call, or None if they are unchanged."""
    value, after = execution.call(function, args, no_grad)
    if isinstance(value, statements.MissingValue):
        value.fail()
    return value, execution.changed(args, after)


class Server:
    """Answers requests from a channel until the grader closes it."""

    def __init__(
        self,
        channel: socket.socket,
        others: Mapping[str, Callable[..., Any]] | None = None,
        held: Mapping[str, Sequence[Request]] | None = None,
    ) -> None:
        """`held` contains the batches that the fork server has received, keyed by digest."""
        self._channel = channel
        self._held = held or {}
        self._frame_id = 0
        self._worker = Worker(self._exchange, others)

    def serve(self) -> NoReturn:
        """Answers requests until the process ends."""
        while True:
            self.answer_next()

    def answer_next(self) -> None:
        """Receives one frame, and sends the replies to its requests."""
        self._frame_id, request = _receive(self._channel)
        if request[0] in ("several", "held"):
            batch = request[1] if request[0] == "several" else self._held[request[1]]
            # Encode each reply immediately, because a later call may change what an earlier one
            # returned.
            replies = [b"".join(answer(self._worker, self._frame_id, one)) for one in batch]
            self._channel.sendall(b"".join(replies))
            return
        for part in answer(self._worker, self._frame_id, request):
            self._channel.sendall(part)

    def _exchange(self, request: tuple[Any, ...]) -> Any:
        for part in wire.encode(self._frame_id, request):
            self._channel.sendall(part)
        return _receive(self._channel)[1]


def answer(worker: Worker, frame_id: int, request: Any) -> list[bytes | memoryview]:
    """Executes one request; returns a frame with its value or its error."""
    try:
        operation, *args = request
        return list(wire.encode(frame_id, ("ok", worker.operations[operation](*args))))
    except BaseException as error:
        return list(wire.encode(frame_id, _failure(error)))


def _failure(error: BaseException) -> tuple[Any, ...]:
    kind = type(error)
    bases = [str(base.__name__) for base in kind.__mro__[:12]]
    if isinstance(error, wire.BadFrame):
        return ("protocol", str(error)[:500])
    if kind is statements.StatementTimeout:
        return ("timeout", str(error)[:500])
    if kind is statements.NotLoaded:
        return ("unloaded", str(error)[:1000])
    if kind is NotDefined:
        return ("missing", str(error)[:500])
    try:
        text = wire.error_text(error)[:1000]
    except Exception:
        text = "(its text can't be read)"
    if isinstance(error, MemoryError) or any(phrase in text for phrase in _OUT_OF_MEMORY):
        return ("memory", text)
    return ("raised", str(kind.__name__)[:100], text, bases, _where(error))


def _where(error: BaseException) -> str:
    """Returns the last few lines of the student's own code in the traceback."""
    try:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not frame.filename.startswith(os.sep)]
        lines = [f"in {frame.name}: {frame.line or ''}".strip() for frame in own]
        return "\n".join(line[:200] for line in lines[-_TRACEBACK_LINES:])
    except Exception:
        return ""


def requests_in(frame: bytes) -> Sequence[Request]:
    """Returns the requests that a frame from the grader contains."""
    _, header_size, _ = wire.HEAD.unpack_from(frame)
    middle = wire.HEAD.size + header_size
    header, data = frame[wire.HEAD.size : middle], bytearray(frame[middle:])
    requests: Sequence[Request] = wire.decode(header, data, layouts=True)[1]
    return requests


def _receive(channel: socket.socket) -> tuple[int, Any]:
    frame_id, header_size, data_size = wire.HEAD.unpack(_exactly(channel, wire.HEAD.size))
    header = bytes(_exactly(channel, header_size))
    return frame_id, wire.decode(header, _exactly(channel, data_size), layouts=True)


def _exactly(channel: socket.socket, size: int) -> bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    while view:
        count = channel.recv_into(view)
        if not count:
            os._exit(0)
        view = view[count:]
    return buffer


class Settings(NamedTuple):
    """torch's settings in a worker."""

    with_gradients: bool
    dtype: torch.dtype

    def begin(self, seed: int) -> None:
        """Seeds torch's random number generator, and restores the settings."""
        torch.default_generator.manual_seed(seed)
        torch.set_grad_enabled(self.with_gradients)
        torch.set_default_dtype(self.dtype)


def settings() -> Settings:
    """Returns torch's current settings."""
    return Settings(torch.is_grad_enabled(), torch.get_default_dtype())


_PACKAGE = "autograder.parts"


def install_parts(parts: Sequence[tuple[str, str, list[str]]]) -> None:
    """Creates the package `autograder.parts` from each module's name, source and exported names."""
    package = _package("autograder")
    package.parts = offered = _package(_PACKAGE)  # type: ignore[attr-defined]
    for name, text, names in parts:
        module = ModuleType(f"{_PACKAGE}.{name}")
        module.__package__ = _PACKAGE
        sys.modules[module.__name__] = module
        # In a traceback, the absolute path distinguishes these lines from the student's.
        exec(compile(text, f"/{_PACKAGE}/{name}.py", "exec"), vars(module))
        vars(offered).update({part: vars(module)[part] for part in names})


def _package(name: str) -> ModuleType:
    package = ModuleType(name)
    package.__spec__ = ModuleSpec(name, None, is_package=True)  # needed by `find_spec`
    package.__path__ = []
    sys.modules[name] = package
    return package
