"""Every command is listed once, and its module is loaded only when the command is called."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator

import click
from click.testing import CliRunner

import autograder.cli
from autograder.cli import COMMANDS, cli
from autograder.cli.authoring import _not_fresh
from autograder.cli.output import StrictCommand


def test_the_table_names_every_command_of_every_module() -> None:
    found = {}
    for item in pkgutil.iter_modules(autograder.cli.__path__):
        module = importlib.import_module(f"autograder.cli.{item.name}")
        for command in getattr(module, "COMMANDS", ()):
            found[command.name] = item.name
    assert found == {name: module for name, (module, _) in COMMANDS.items()}


def test_help_loads_no_command() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from autograder.cli import cli;"
        "CliRunner().invoke(cli, ['--help']);"
        "print({'torch', 'rich', 'autograder.cli.grading'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_packages_that_do_not_grade_load_no_torch() -> None:
    packages = ("classroom", "collecting", "exports", "feedback", "nbgrader", "results")
    code = f"import sys, {', '.join(f'autograder.{name}' for name in packages)};" + (
        "print({'torch', 'rfc3987_syntax'} & set(sys.modules))"  # slow imports
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_misspelt_command_gets_the_nearest_name() -> None:
    assert "Did you mean 'check'?" in CliRunner().invoke(cli, ["chek"]).output


def test_an_option_that_is_given_twice_is_refused() -> None:
    result = CliRunner().invoke(cli, ["grade", "nowhere", "--shard", "1/4", "--shard", "2/4"])
    assert result.exit_code == 2
    assert "--shard was given 2 times; give it only once." in result.output
    result = CliRunner().invoke(cli, ["grade", "nowhere", "--gradebook", "--no-gradebook"])
    assert "--gradebook/--no-gradebook was given 2 times" in result.output
    allowed = ["--resume", "--resume", "--jobs", "300"]
    assert "300 is not in the range" in CliRunner().invoke(cli, ["grade", "no", *allowed]).output


def test_every_command_refuses_an_option_that_is_given_twice() -> None:
    def leaves(command: click.Command) -> Iterator[click.Command]:
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                for name in command.list_commands(context):
                    found = command.get_command(context, name)
                    assert found is not None
                    yield from leaves(found)
        else:
            yield command

    assert [one.name for one in leaves(cli) if not isinstance(one, StrictCommand)] == []


def test_outdated_files_are_reported_in_one_line() -> None:
    assert _not_fresh([]) == []
    (line,) = _not_fresh([f"a/{number}.py: differs" for number in range(6)])
    assert line.startswith(
        "assignments/ is not up to date: run autograder release (a/0.py: differs;"
    )
    assert line.endswith("a/3.py: differs; and 2 more)")
