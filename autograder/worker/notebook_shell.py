"""Runs a notebook's cells as a kernel would, but in this process, with IPython's own shell.

The fork server creates the notebook, and loads IPython and a course's packages, so that no fork has
to load them. IPython handles magics, displayed values and tracebacks.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import getpass
import importlib
import importlib.abc
import importlib.util
import linecache
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

import torch
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.text import SList
from traitlets import Type
from traitlets.config import Config

from .data_files import DATA_FILES, Files
from .notebook_outputs import Outputs, Stream

_NO_COMMANDS = "operating system commands do not run where notebooks are graded: {}\n"
#: folders in which the fork server may write while it loads packages, in a sandbox and outside
_PLACES = ("/dev/shm", "/tmp")


class Notebook:
    """The state of one notebook: its names, and the outputs of the running cell."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Imports the `modules` if possible, so that workers need not import them."""
        config = Config()
        config.HistoryManager.enabled = False
        config.HistoryManager.hist_file = ":memory:"
        config.InteractiveShell.colors = "NoColor"
        self._shell = _Shell.instance(config=config, ipython_dir="/")
        self._running = False
        #: kept here, because a student's cell could replace the original
        self._run_cell: Callable[..., Any] = _Shell.run_cell
        _load(modules)
        self.run("1 / 0", is_test=True)  # the first traceback is slow

    @property
    def operations(self) -> Mapping[str, Callable[..., Any]]:
        """The operations on the notebook that the grader may request from a worker."""
        return {"begin_cells": self.begin, "run_cell": self.run}

    def begin(
        self, seed: int, environment: Mapping[str, str], files: Mapping[str, torch.Tensor]
    ) -> None:
        """Prepares a worker for its first cell."""
        DATA_FILES.put({name: data.numpy().tobytes() for name, data in files.items()})
        DATA_FILES.in_use = True
        sys.meta_path.append(DataFileFinder(DATA_FILES))
        signal.signal(signal.SIGINT, self._interrupt)
        os.environ.update(environment)
        random.seed(seed)
        torch.default_generator.manual_seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % (1 << 32))

    def run(self, source: str, is_test: bool, mark: str = "") -> list[dict[str, Any]]:
        """Runs a cell and returns its outputs; leaves no trace of the source of a test.

        `mark` is a secret. If a test has run to its end, the last output contains this secret.
        """
        end = EndOfTest(mark)
        outputs = self._shell.outputs = Outputs()
        self._shell.source = source
        if is_test:  # earlier cells could make IPython rewrite it
            self._shell.ast_transformers = [end] if mark else []
            self._shell.user_ns[end.name] = end.reach
            self._shell.input_transformers_post = []
        known = set(linecache.cache)
        try:
            with _taking_over(outputs):
                self._running = True
                self._run_cell(self._shell, source, store_history=not is_test)
        except KeyboardInterrupt:
            pass  # too late for the cell to show it
        finally:
            self._running = False
            self._shell.user_ns.pop(end.name, None)
            if is_test:
                self._shell.ast_transformers = []  # later cells need not report their end
                self._forget(known)
        return [*outputs.entries, *end.entries]

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._running:
            raise KeyboardInterrupt

    def _forget(self, known: set[str]) -> None:
        """Deletes a test's source wherever IPython keeps it, so that no cell can find it."""
        self._shell.source = ""
        self._shell.last_execution_result = None
        for name in set(linecache.cache) - known:
            del linecache.cache[name]
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):
                delattr(sys, name)


class _ValueHook(DisplayHook):
    shell: Any

    def quiet(self) -> bool:
        # IPython would look at its history, which does not contain tests.
        ends_so: Callable[[str], bool] = self.semicolon_at_end_of_expression
        return ends_so(self.shell.source)

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(
        self, format_dict: Mapping[str, Any], md_dict: Mapping[str, Any] | None = None
    ) -> None:
        self.shell.outputs.result(format_dict)

    def log_output(self, format_dict: Mapping[str, Any]) -> None:
        pass

    def finish_displayhook(self) -> None:
        self._is_active = False


class _Publisher(DisplayPublisher):
    shell: Any

    def publish(self, data: Mapping[str, Any], *args: Any, **kwargs: Any) -> None:
        self.shell.outputs.display(data)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.outputs.clear()


class _Shell(InteractiveShell):
    """An IPython shell that writes no files, starts no programs, and records all outputs."""

    displayhook_class = Type(_ValueHook)
    display_pub_class = Type(_Publisher)
    outputs = Outputs()
    source = ""

    def init_profile_dir(self, profile_dir: Any) -> None:
        self.profile_dir = None

    def enable_gui(self, gui: Any = None) -> None:
        """Does nothing, because graded notebooks need no event loop."""

    def ask_exit(self) -> None:
        """Ignores `exit()`, because later cells also count."""

    def system(self, cmd: str) -> None:
        """Refuses `!command` with a printed explanation."""
        sys.stdout.write(_NO_COMMANDS.format(cmd))
        self.user_ns["_exit_code"] = 1

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        """Refuses `names = !command`; returns an empty result."""
        self.system(cmd)
        return SList([]) if split else ""

    def _showtraceback(self, etype: type[BaseException], evalue: Any, stb: Any) -> None:
        try:
            text = str(evalue)
        except Exception:
            text = "(its text can't be read)"
        lines = stb if isinstance(stb, list) else [str(stb)]
        self.outputs.error(str(etype.__name__), text, lines)


@contextlib.contextmanager
def _taking_over(outputs: Outputs) -> Iterator[None]:
    """Within the block, sends printed text to the outputs, and makes requests for input fail."""
    asked = builtins.input, getpass.getpass
    with (
        contextlib.redirect_stdout(Stream("stdout", outputs)),
        contextlib.redirect_stderr(Stream("stderr", outputs)),
    ):
        builtins.input = getpass.getpass = _nobody_answers
        try:
            yield
        finally:
            builtins.input, getpass.getpass = asked


def _nobody_answers(*args: Any, **kwargs: Any) -> str:
    raise StdinNotImplementedError("input() was called, but there is no input during grading")


def _load(modules: Sequence[str]) -> None:
    """Imports modules.

    Errors are ignored, because they occur again, visibly, in the cell that imports the module.
    """
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    place = _writable()
    os.environ["MPLCONFIGDIR"] = place  # matplotlib writes its list of fonts there
    try:
        for module in modules:
            with contextlib.suppress(Exception):
                importlib.import_module(module)
        if "matplotlib.pyplot" in sys.modules:
            _draw(sys.modules["matplotlib.pyplot"])
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.environ["MPLCONFIGDIR"] = "/.matplotlib"  # next to the notebook


def _writable() -> str:
    for place in _PLACES:
        with contextlib.suppress(OSError):
            return tempfile.mkdtemp(dir=place)
    return "/"


def _draw(pyplot: Any) -> None:
    """Draws a plot now, because the first plot takes half a second longer than later plots."""
    pyplot.plot([0, 1])
    pyplot.gcf().canvas.draw()
    pyplot.close("all")


class DataFileFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports modules from files next to a notebook."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self._file(fullname)
        if file is None:
            return None
        is_package = file.endswith("__init__.py")
        spec = ModuleSpec(fullname, self, origin=file, is_package=is_package)
        spec.has_location = True
        return spec

    def get_source(self, fullname: str) -> str:
        file = self._file(fullname)
        if file is None:
            raise ImportError(f"no module named {fullname}", name=fullname)
        return importlib.util.decode_source(self._files.contents[file])

    def _file(self, fullname: str) -> str | None:
        stem = fullname.replace(".", "/")
        names = (f"{stem}/__init__.py", f"{stem}.py")
        return next((name for name in names if name in self._files.contents), None)


class EndOfTest(ast.NodeTransformer):
    """Adds code that reports when a test reaches its end, and keeps the last line's value."""

    def __init__(self, mark: str) -> None:
        self.name = f"_end_{mark}"
        self.entries: list[dict[str, Any]] = []

        def reach(value: Any = None) -> Any:
            self.entries = [{"kind": "end", "mark": mark}]
            return value

        self.reach = reach

    def visit_Module(self, tree: ast.Module) -> ast.Module:  # noqa: N802 - ast's name
        """Adds a call to `reach` to the end of the code that IPython is about to run."""
        last = tree.body[-1] if tree.body else None
        call = ast.Call(ast.Name(self.name, ast.Load()), [], [])
        if isinstance(last, ast.Expr):
            call.args, last.value = [last.value], call
            ast.copy_location(call, call.args[0])
        else:
            tree.body.append(ast.Expr(call))
        return ast.fix_missing_locations(tree)
