"""The documentation builds without a warning, and its links work."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from functools import partial
from pathlib import Path

import click
import pytest
from playwright.sync_api import sync_playwright

from autograder.cli import cli

from .forks import run_forked

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def sphinx_main() -> int:
    from sphinx.cmd.build import main

    return main(sys.argv[1:])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of the site, built without lessons and without warnings."""
    place = tmp_path_factory.mktemp("docs") / "site"
    options = ["--quiet", "--fail-on-warning", "--builder", "html"]
    built = run_forked(sphinx_main, ["sphinx", *options, ROOT / "docs", place], ROOT)
    assert built.returncode == 0, built.stderr
    return place


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    reference = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert "autograder.grade" in reference
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert "autograder changes course --student ada --all" in commands
    assert not set("–“”") & set(commands)
    assert 'href="tcp:' not in commands
    loaded = re.compile(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="(?:https?:)?//')
    name_of_a_file = re.compile(r'<a class="reference internal"[^>]*>(?:<[^>]*>)*[^<]*\.md<')
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not loaded.search(text), page.name
        assert not name_of_a_file.search(text), page.name
        assert ("summaries.js" in text) == (page.name == "search.html"), page.name


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_a_browser_shows_summaries_of_pages_that_are_files(site: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{(site / 'search.html').as_uri()}?q=overrides")
        summary = page.locator("#search-results li", has_text="live connection").locator("p")
        assert "Canvas's overrides, Moodle's extensions" in summary.inner_text()
        browser.close()
    assert asked and all(url.startswith("file:") for url in asked)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_files_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_files_that_the_design_names_are_there() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)+\w+\.py)`", text)
    missing = [name for name in named if not (ROOT / "autograder" / name).is_file()]
    assert named and not missing


def test_tests_that_the_page_on_security_names_are_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = text.partition("| promise | test |")[2].partition("\n\n")[0]
    paths = {path.name: path for path in (ROOT / "tests").rglob("*.py")}
    file, missing, named = None, [], 0
    for place, test in re.findall(r"`([\w/]+\.(?:py|toml))?(?:::)?(test_\w+)?`", rows):
        if place:
            file = ROOT / place if "/" in place else paths.get(place, ROOT / place)
        named += 1
        if file is None or not file.is_file() or f"def {test}" not in file.read_text():
            missing.append(f"{place}::{test}")
    assert named > 15 and not missing
    silent = [row for row in rows.splitlines()[2:] if not re.search(r"\.(?:py|toml)[`:]", row)]
    assert not silent, f"a promise without a test: {silent}"


def test_the_page_on_security_counts_the_attacks() -> None:
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    corpus = (ROOT / "tests" / "autograder" / "attacks" / "corpus").glob("*.toml")
    count = sum(len(tomllib.loads(path.read_text(encoding="utf-8"))) for path in corpus)
    assert f"contains {count} attacks" in text


def test_the_readme_says_which_share_of_the_grader_tests_run() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    floor = settings["tool"]["coverage"]["report"]["fail_under"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    share = f"{floor}% of the grader's lines and branches"
    assert f"fails if the tests execute less than {share}" in readme


def test_the_upgrade_page_has_todays_points_of_the_example_class() -> None:
    page = (ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [\d.]+ of \d+ \| ([\d.]+) of \d+ \|", page, re.MULTILINE)
    assert len(rows) == 6
    expected = json.loads((ROOT / "examples" / "expected.json").read_text(encoding="utf-8"))
    points = {
        (question, score)
        for assignments in expected.values()
        for exercises in assignments.values()
        for questions in exercises.values()
        for question, (score, _) in questions.items()
    }
    assert {(question, float(score)) for question, score in rows} <= points


def test_a_walk_through_one_submission_takes_at_most_fifteen_steps() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    walk = text.partition("## One submission")[2].partition("\n## ")[0]
    assert 10 <= len(re.findall(r"^\d+\. `", walk, re.MULTILINE)) <= 15


def test_the_example_of_grading_from_python_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    place = tmp_path / "submitted" / "ada" / "simplified_attention"
    place.mkdir(parents=True)
    (place / "scores.py").write_text(
        "import torch\n\ndef query_scores(inputs, query):\n    return 0\n"
    )
    script = tmp_path / "example.py"
    script.write_text(f"COURSE = {str(ROOT)!r}\n{code}", encoding="utf-8")
    ran = run_forked(partial(runpy.run_path, str(script), run_name="__main__"), [script], tmp_path)
    assert ran.returncode == 0, ran.stderr
    first, second, *questions = ran.stdout.splitlines()
    assert first.startswith("1 graded in tier ")
    assert second == "ada simplified_attention 0 of 100"
    assert "   query_scores wrong " in questions


def _commands(text: str) -> list[str]:
    """Returns the commands on a page, in code blocks and in sentences."""
    command = r"(autograder (?:[^\n#]|(?<=\")#)*)"  # ends at a comment, but not at `"#name"`
    lines = re.findall(rf"^(?: {{4}})?\$? *(?:\.venv/bin/)?{command}", text, re.MULTILINE)
    inline = re.findall(r"`(?:\.venv/bin/)?(autograder [^`\n]+)`", text)
    blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    indented = [line for line in lines if f"    {line}" in text or line in blocks]
    return [*indented, *inline]


def _understand(line: str) -> None:
    """Parses a command as the terminal would; raises click's error if it is wrong."""
    command: click.Command = cli
    context = click.Context(cli)
    _, *words = shlex.split(re.split(r"[|>;&]", line)[0])
    while isinstance(command, click.Group) and words:
        name, found, words = command.resolve_command(context, words)
        assert found is not None
        command, context = found, click.Context(found, parent=context, info_name=name)
    command.make_parser(context).parse_args(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_on_a_page_has_these_options(page: Path) -> None:
    wrong = {}
    for line in _commands(page.read_text(encoding="utf-8")):
        try:
            _understand(line)
        except click.ClickException as error:
            wrong[line] = error.format_message()
    assert not wrong
