"""Modules obey the architecture's rules for imports, lengths, annotations and docstrings."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "autograder"
# templates are files for other projects, not modules of the grader
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "templates" not in path.parts)

LONGEST_MODULE = 400
SHORTEST_MODULE = 60
LONGEST_LINE = 100
MEDIAN_FUNCTION = 8
P90_FUNCTION = 30

#: names of distributions by module, where the two names differ
DISTRIBUTIONS = {
    "IPython": "ipython",
    "matplotlib_inline": "matplotlib-inline",
    "jupyter_core": "jupyter-core",
    "_pytest": "pytest",
    "yaml": "pyyaml",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(_tree(path)) if isinstance(node, Function))


def _length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


@pytest.fixture(scope="module")
def lengths() -> list[int]:
    return [_length(function) for path in MODULES for function in _functions(path)]


def test_imports_keep_every_contract() -> None:
    run = subprocess.run(
        [
            sys.executable,
            *("-c", "from importlinter.cli import lint_imports_command as lint; lint()"),
            *("--no-logo", "--no-cache"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_names_in_strings_go_down_only_as_imports_do() -> None:
    rank = {name: number for number, layer in enumerate(_layers()) for name in layer}
    found = [
        f"{_name(path)}:{node.lineno} {node.value}"
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (named := re.fullmatch(r"autograder\.(\w+)(\.\w+)*", node.value))
        and rank.get(named[1], 0) < rank.get(path.relative_to(PACKAGE).parts[0], 0)
    ]
    assert not found, f"a name in a string depends as an import does: {found}"


def _layers() -> list[set[str]]:
    """Returns the packages of each layer in pyproject.toml, starting with the command line."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = document["tool"]["importlinter"]["contracts"]
    (layers,) = [c["layers"] for c in contracts if c["type"] == "layers"]
    return [set(re.findall(r"\w+", layer)) for layer in layers]


def test_hidden_suites_fail_by_expect_alone() -> None:
    # a message that a suite writes itself would lack the next step and the cause
    made = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests/hidden").rglob("*.py")
        for node in ast.walk(_tree(path))
        if (isinstance(node, ast.Assert) and node.msg is not None)
        or (isinstance(node, ast.ImportFrom) and str(node.module).endswith("suite.failures"))
    ]
    assert not made, f"let `expect` say what failed: {made}"


def test_modules_stay_within_their_budget() -> None:
    counts = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    long = {name: lines for name, lines in counts.items() if lines > LONGEST_MODULE}
    assert not long, f"more than {LONGEST_MODULE} lines, split by responsibility: {long}"


def test_a_short_module_has_several_users() -> None:
    # a short module with one user belongs in that user's module, unless it is an `__init__` module,
    # which only exports names, or a part, which is an answer of the course
    users: dict[str, set[str]] = {}
    for path in [*MODULES, *sorted((ROOT / "tests/hidden").rglob("*.py"))]:
        for node in ast.walk(_tree(path)) if path.name != "__init__.py" else ():
            if isinstance(node, ast.ImportFrom):
                source = _source(path, node)
                for name in (source, *(f"{source}.{alias.name}" for alias in node.names)):
                    users.setdefault(name, set()).add(_name(path))
    fragments = {
        _name(path): own
        for path in MODULES
        if path.parent.name != "parts"
        and len(path.read_text(encoding="utf-8").splitlines()) < SHORTEST_MODULE
        and len(own := users.get(".".join(path.relative_to(ROOT).with_suffix("").parts), ())) == 1
    }
    assert not fragments, f"less than {SHORTEST_MODULE} lines, move them home: {fragments}"


def test_no_line_is_too_long_whatever_its_end() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    long = [
        f"{name}:{number}"
        for name in listed
        if not name.startswith(("assignments/", "examples/")) and (ROOT / name).is_file()
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), start=1)
        if len(line) > LONGEST_LINE
    ]
    assert not long, f"more than {LONGEST_LINE} characters, a pragma counted too: {long}"


def test_half_of_all_functions_are_short(lengths: list[int]) -> None:
    assert statistics.median(lengths) <= MEDIAN_FUNCTION


def test_nine_of_ten_functions_fit_on_a_screen(lengths: list[int]) -> None:
    assert statistics.quantiles(lengths, n=10)[-1] <= P90_FUNCTION


def test_every_function_is_annotated() -> None:
    missing = [
        f"{_name(path)}:{function.lineno} {function.name}"
        for path in MODULES
        for function in _functions(path)
        if function.returns is None or not all(_annotated(function))
    ]
    assert not missing, f"annotate arguments and result: {missing}"


def _annotated(function: Function) -> Iterator[bool]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in named + [a for a in (arguments.vararg, arguments.kwarg) if a]:
        yield argument.annotation is not None or argument.arg in {"self", "cls"}


def test_every_module_says_what_it_is() -> None:
    # an empty __init__.py needs no docstring
    silent = [
        _name(path) for path in MODULES if _tree(path).body and not ast.get_docstring(_tree(path))
    ]
    assert not silent, f"begin with a docstring of one sentence: {silent}"


def test_only_the_command_line_prints_or_exits() -> None:
    found = [
        f"{_name(path)}:{call.lineno} {ast.unparse(call.func)}"
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] not in {"cli", "cli.py"}
        for call in ast.walk(_tree(path))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in {"print", "input", "exit", "quit", "sys.exit"}
    ]
    assert not found, f"return a record, or raise an error of autograder/errors.py: {found}"


def test_imported_packages_are_declared() -> None:
    undeclared = [
        f"{_name(path)}: {name}"
        for path in MODULES
        for name in _imported(path) - sys.stdlib_module_names - {"autograder"}
        if DISTRIBUTIONS.get(name, name) not in _declared_for(path)
    ]
    assert not undeclared, f"name it in pyproject.toml, where it is needed: {undeclared}"


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


@cache
def _project() -> dict[str, Any]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return dict(document["project"])


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", text, maxsplit=1)[0] for text in requirements}


def _declared_for(path: Path) -> set[str]:
    """Returns the packages that a module may import; modules for students may not use extras."""
    project = _project()
    names = _names(project["dependencies"])
    if path.relative_to(PACKAGE).parts[0] == "student":
        return names
    names |= _names(project["optional-dependencies"]["instructor"])
    for folder, extra in (("grading/cluster", "cluster"), ("live", "live")):
        if path.is_relative_to(PACKAGE / folder):
            names |= _names(project["optional-dependencies"][extra])
    return names


#: an import in a text that the package writes, such as a class's configuration
_WRITTEN_IMPORT = re.compile(r"^\W*from (autograder[\w.]*) import (\w+)", re.MULTILINE)


def test_a_package_exports_only_what_somebody_imports() -> None:
    # the linter can't check this, because an `__init__` module uses none of its imports
    taken: dict[str, set[str]] = {}
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ImportFrom):
                names = {alias.name for alias in node.names}
                taken.setdefault(_source(path, node), set()).update(names)
            elif isinstance(node, ast.Attribute):
                taken.setdefault("", set()).add(node.attr)
        for package, name in _WRITTEN_IMPORT.findall(path.read_text(encoding="utf-8")):
            taken.setdefault(package, set()).add(name)
    idle = [
        f"{_name(path)}: {alias.name}"
        for path in PACKAGE.rglob("__init__.py")
        if len(path.read_text(encoding="utf-8").splitlines()) > 5
        for node in _tree(path).body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
        if (alias.asname or alias.name)
        not in taken.get(_package(path), set()) | taken[""] | _used_in(path)
    ]
    assert not idle, f"nobody takes it from there: {idle}"


def _package(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).parent.parts)


def _source(path: Path, node: ast.ImportFrom) -> str:
    """Returns the package or module from which names are imported."""
    if not node.level:
        return node.module or ""
    around = path.relative_to(ROOT).parent.parts
    place = around[: len(around) - node.level + 1]
    return ".".join((*place, *filter(None, [node.module])))


def _used_in(path: Path) -> set[str]:
    """Returns the names that a module reads or mentions in a string."""
    nodes = list(ast.walk(_tree(path)))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {str(node.value) for node in nodes if isinstance(node, ast.Constant)}


def test_every_dependency_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {line.partition("==")[0] for line in lines if not line.startswith("#")}
    asked = [_project()["dependencies"], *_project()["optional-dependencies"].values()]
    missing = set().union(*map(_names, asked)) - pins
    assert not missing, f"constraints.txt does not pin {missing}"


def test_archives_take_the_package_and_no_answers() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
    targets = build["build"]["targets"]
    assert targets["wheel"] == {"packages": ["autograder"]}
    assert set(targets["sdist"]["only-include"]) == {
        *("autograder", "README.md", "LICENSE", "pyproject.toml")
    }


def test_nothing_that_a_class_makes_is_in_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout, so nothing can be committed from it")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    made = {"secret.key", "results.jsonl", "gradebook.db", "roster.csv", "nbgrader_config.py"}
    assert not [path for path in listed.stdout.split() if Path(path).name in made]
