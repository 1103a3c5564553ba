"""Executes a student's module or notebook statement by statement.

Statements are executed in order, except those that only experiment with answers. If a statement
fails or exceeds its time limit, the names that it assigns get placeholders, so that only code that
uses these names fails. A statement that fails because a name is assigned further down is executed
again after the assignment, because the cells in a notebook may be in any order.
"""

from __future__ import annotations
import __future__

import ast
import linecache
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, Protocol

from .experiments import Statement, experiments, names_reached
from .wire import error_text

_OPERATORS = (
    *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"),
    *("radd", "rsub", "rmul", "rmatmul", "rtruediv", "neg", "lt", "le", "gt", "ge", "bool"),
    *("call", "getattr", "getitem", "iter", "len", "contains", "enter", "int", "float", "index"),
)
#: the function that Jupyter provides in every cell, and its library
SHOWS, _SHOWING = "display", "IPython"
#: the errors that may be raised when an annotation is evaluated
_IN_ANNOTATIONS = (ImportError, NameError, AttributeError, TypeError)
_ANNOTATIONS_AS_TEXT = __future__.annotations.compiler_flag
#: how many characters of a line of code a message may contain
_LONGEST_LINE = 100


#: a function that gets an error, and whether an answer may need the statement that raised it
Failed = Callable[[BaseException, bool], None]


class StatementTimeout(BaseException):
    """Raised in a statement that takes too long; `except Exception` does not catch it."""


class NotLoaded(NameError):
    """Raised for a name without a value, because the statement that assigns it has failed."""


class Alarm(Protocol):
    """Raises `StatementTimeout` in a statement that takes longer than its limit."""

    def begin(self, is_needed: Callable[[], bool]) -> None:
        """Runs when a statement begins; calls `is_needed` if the statement takes a long time."""

    def end(self) -> None:
        """Runs when the statement has ended."""


class MissingValue:
    """A placeholder for a value that is not available; raises an error when an answer uses it."""

    def __init__(self, kind: type[BaseException], text: str) -> None:
        self.__dict__["_fail"] = (kind, text)

    def fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises the error that says why the value is not available."""
        kind, text = self.__dict__["_fail"]
        raise kind(text)


for _operator in _OPERATORS:
    setattr(MissingValue, f"__{_operator}__", MissingValue.fail)


class SilentDisplay:
    """A placeholder for a function that displays something; calling it has no effect."""

    def __call__(self, *args: Any, **kwargs: Any) -> SilentDisplay:
        return self

    def __getattr__(self, name: str) -> SilentDisplay:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def execute(
    source: str,
    file: str,
    own: dict[str, Any],
    answers: Collection[str] = (),
    alarm: Alarm | None = None,
    stand_ins: Mapping[str, Callable[[Any], Any]] | None = None,
    failed: Failed = lambda error, is_needed: None,
    only_needed: bool = False,
) -> None:
    """Executes a module in the namespace `own`, without statements that only try out `answers`.

    `stand_ins` maps each name whose value must be substituted to a function that returns a
    substitute for the module's own value. The value is replaced as soon as it is assigned, so that
    later statements use the substitute. `failed` is called for each statement that fails. If
    `only_needed` is true, a statement is also skipped if no answer depends on the names that it
    uses. Raises an error only if the text is not valid Python, or if `failed` raises an error.
    """
    # for code that reads its own source, such as `torch.jit.script`
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    tree = ast.parse(source, file)
    statements = [Statement(node) for node in _single_imports(tree.body)]
    left_out = experiments(statements, answers) if answers else set[Statement]()
    chosen = [s for s in statements if s not in left_out and not s.is_silent]
    execution = _Execution(file, source, own, answers, stand_ins or {}, chosen, failed)
    execution.run(alarm, only_needed)


def _single_imports(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields statements; splits an import of several modules, so that one can fail on its own."""
    for node in body:
        if isinstance(node, ast.Import) and len(node.names) > 1:
            yield from (ast.copy_location(ast.Import([alias]), node) for alias in node.names)
        else:
            yield node


class _Execution:
    def __init__(
        self,
        file: str,
        source: str,
        own: dict[str, Any],
        answers: Collection[str],
        stand_ins: Mapping[str, Callable[[Any], Any]],
        chosen: Sequence[Statement],
        failed: Failed,
    ) -> None:
        self._file = file
        self._source = source
        self._own = own
        self._answers = frozenset(answers)
        self._stand_ins = stand_ins
        self._chosen = chosen
        self._failed = failed
        self._flags = _future_flags(chosen)
        #: the number of the statement that last assigned each name
        self._bound: dict[str, int] = {}
        #: the numbers of the statements that wait for each name
        self._waiting: dict[str, list[int]] = {}

    def run(self, alarm: Alarm | None, only_needed: bool) -> None:
        """Executes all statements.

        At the end, repeats all statements that are still waiting for a name.
        """
        for name, make in self._stand_ins.items():
            self._own[name] = make(None)
        for number, statement in enumerate(self._chosen):
            if not only_needed or self._is_needed(statement):
                self._try(number, alarm)
        for number in sorted({n for some in self._waiting.values() for n in some}):
            self._try(number, alarm, is_last=True)

    def _try(self, number: int, alarm: Alarm | None, is_last: bool = False) -> None:
        """Executes a statement, and then all statements that waited for a name that it assigns."""
        trying = [number]
        while trying:
            number = trying.pop(0)
            awaited = self._tried(number, alarm, is_last)
            if awaited is not None:
                self._waiting.setdefault(awaited, []).append(number)
                continue
            for name in self._chosen[number].binds:
                trying += self._waiting.pop(name, ())

    def _tried(self, number: int, alarm: Alarm | None, is_last: bool) -> str | None:
        """Executes a statement; returns the name for which the statement must wait, or None."""
        statement = self._chosen[number]
        binds = statement.binds
        if binds and not [name for name in binds if self._bound.get(name, -1) <= number]:
            return None  # it had to wait, and a later statement has assigned its names meanwhile
        functions = {n: self._own[n] for n in binds & self._answers if callable(self._own.get(n))}
        try:
            self._execute(statement, alarm)
        except BaseException as error:
            if not is_last and (name := self._yet_to_come(error, number)):
                return name
            self._failed(error, self._is_needed(statement))
            self._leave(statement, error)
        for name in binds:
            self._left[name] -= 1
            self._bound[name] = max(number, self._bound.get(name, -1))
        for name, function in functions.items():
            if not callable(self._own.get(name)):
                self._own[name] = function  # undo an experiment such as `softmax = softmax(scores)`
        for name in binds & self._stand_ins.keys():
            self._put_stand_in(name)
        return None

    def _execute(self, statement: Statement, alarm: Alarm | None) -> None:
        node = statement.node
        try:
            self._exec(node, self._flags, alarm, statement)
        except _IN_ANNOTATIONS:
            is_annotated = statement.is_definition or isinstance(node, ast.AnnAssign)
            if not is_annotated or self._flags & _ANNOTATIONS_AS_TEXT:
                raise
            # An annotation may refer to something that does not exist, which has no effect on the
            # answer.
            self._exec(node, self._flags | _ANNOTATIONS_AS_TEXT, alarm, statement)

    def _exec(self, node: ast.stmt, flags: int, alarm: Alarm | None, statement: Statement) -> None:
        code = compile(ast.Module([node], []), self._file, "exec", flags, dont_inherit=True)
        if alarm is None:
            exec(code, self._own)
            return
        alarm.begin(lambda: self._is_needed(statement))
        try:
            exec(code, self._own)
        finally:
            alarm.end()

    @cached_property
    def _left(self) -> Counter[str]:
        """For each name, the number of remaining statements that assign the name."""
        return Counter(name for statement in self._chosen for name in statement.binds)

    def _yet_to_come(self, error: BaseException, number: int) -> str | None:
        """Returns the missing name that made a statement fail, if this name is assigned later."""
        name = getattr(error, "name", None) if isinstance(error, NameError) else None
        if name is None or self._left[name] <= (name in self._chosen[number].binds):
            return None
        return str(name)

    @cached_property
    def _reached(self) -> set[str]:
        return names_reached(self._chosen, self._answers)

    @cached_property
    def _reads(self) -> set[str]:
        found = set[str]()
        return found.union(*(s.names.reads for s in self._chosen if not s.is_import))

    def _is_needed(self, statement: Statement) -> bool:
        """Returns whether an answer may need a statement, judging by names."""
        if statement.is_definition:
            return True
        if statement.is_import:
            return bool(self._reads & statement.binds)
        names = statement.names
        return not (names.binds | names.sets | names.asked | names.given).isdisjoint(self._reached)

    def _leave(self, statement: Statement, error: BaseException) -> None:
        """Assigns placeholders to the names that a failed statement has left without a value.

        If the statement was interrupted (for example, an endless loop), the values of all names
        except answers are removed first, because these values may be arbitrary.
        """
        lines = self._source.split("\n")
        line = lines[statement.node.lineno - 1].strip()[:_LONGEST_LINE]
        names = set(statement.binds)
        if isinstance(error, StatementTimeout) and not statement.is_import:
            changed = statement.names.sets | statement.names.asked
            names |= {name for name in changed if name in self._reached}
            for name in names - self._answers:
                self._own.pop(name, None)
        for name in names:
            self._own.setdefault(name, _missing_value(name, line, statement.is_import, error))

    def _put_stand_in(self, name: str) -> None:
        """Replaces a name's value with its substitute, under all names that this value has."""
        value = self._own.get(name)
        has_value = callable(value) and not isinstance(value, MissingValue)
        self._own[name] = stand_in = self._stand_ins[name](value if has_value else None)
        if has_value:
            for other in [other for other, one in self._own.items() if one is value]:
                self._own[other] = stand_in


def _future_flags(statements: Sequence[Statement]) -> int:
    """Returns the compiler flags for `from __future__ import ...` anywhere in the statements."""
    flags = 0
    for statement in statements:
        node = statement.node
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
    return flags


def _missing_value(
    name: str, line: str, is_import: bool, error: BaseException
) -> MissingValue | SilentDisplay:
    if is_import and isinstance(error, ImportError):
        if (error.name or "").partition(".")[0] == _SHOWING:
            return SilentDisplay()
        return MissingValue(
            ImportError,
            f"{name} could not be imported where submissions are graded ({error_text(error)}); an "
            "answer may use torch and the standard library",
        )
    if isinstance(error, StatementTimeout):
        return MissingValue(StatementTimeout, f"{name} has no value: `{line}` {error}")
    kind = MemoryError if isinstance(error, MemoryError) else NotLoaded
    reason = f"{type(error).__name__}: {error_text(error)}".rstrip(": ")
    return MissingValue(kind, f"{name} has no value: `{line}` fails with {reason}")
