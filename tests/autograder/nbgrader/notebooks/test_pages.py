"""Pages about notebooks that nbgrader grades are safe in a browser, even with hostile text."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from playwright.sync_api import Browser, Route, sync_playwright

from .assignments import SUBMITTED
from .conftest import Submit, run, scores
from .hostile_markdown import CELLS, HOST, MARK

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
HONEST = SUBMITTED["texts"]["right"]
TOKEN = "of-the-test"
FORMGRADER = "nbgrader.server_extensions.formgrader=True"
#: code whose output is hostile
SHOWN = (
    "from IPython.display import display, HTML, Javascript, SVG, Markdown, Latex",
    f"display(HTML('''<script>{MARK}</script><img src=x onerror=\"{MARK}\">'''))",
    f"display(HTML('''<img src=\"{HOST}/m.png\"><table><tr><td>kept</td></tr></table>'''))",
    f"display(Javascript('''{MARK}'''))",
    f"display(SVG('''<svg xmlns=\"http://www.w3.org/2000/svg\"><script>{MARK}</script></svg>'''))",
    f"display(Markdown('''![n]({HOST}/n.png) <img src=x onerror=\"{MARK}\">'''))",
)
#: long cells that would be slow if a reader's regular expression backtracked
LONG = {
    "spaces": new_code_cell(" " * 1_100_000 + "("),
    "newlines": new_markdown_cell("\n" * 400_000),
}


@pytest.fixture(scope="module")
def graded(released: Path, submit: Submit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grades a class with honest, hostile and very long cells; returns its folder."""
    course = tmp_path_factory.mktemp("pages") / "cs101"
    shutil.copytree(released, course, ignore=shutil.ignore_patterns("submitted"))
    submit(course, "zoe", "texts", HONEST)
    added = {name: [cell] for name, cell in LONG.items()}
    added["mal"] = [
        *map(new_markdown_cell, CELLS),
        new_markdown_cell("![p](attachment:p)", attachments={"p": {"text/html": MARK}}),
        new_markdown_cell("![q](attachment:q)", attachments={"q": {"image/png": "aGk="}}),
        *map(new_code_cell, SHOWN),
    ]
    for student, cells in added.items():
        submit(course, student, "texts", HONEST)
        path = course / "submitted" / student / "texts" / "texts.ipynb"
        notebook = nbformat.read(path, as_version=4)
        notebook.cells += cells
        notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}
        nbformat.write(notebook, path)
    run(course, "autograder", "grade", "submitted", "--jobs", "2", "--json")
    return course


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Runs the system's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _points(course: Path, student: str) -> float:
    return sum(score or 0 for (who, _, _), (score, _) in scores(course).items() if who == student)


@pytest.mark.parametrize("student", ["zoe", "mal", *LONG])
def test_other_contents_of_a_notebook_cost_no_points(graded: Path, student: str) -> None:
    assert _points(graded, student) == 8


def test_attachments_of_a_student_are_pictures_only(graded: Path) -> None:
    cells = nbformat.read(graded / "autograded/mal/texts/texts.ipynb", as_version=4).cells
    found = [data for cell in cells for data in cell.get("attachments", {}).values()]
    assert {kind for data in found for kind in data} == {"image/png"}


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_no_script_of_a_student_runs_and_nothing_is_fetched(graded: Path, browser: Browser) -> None:
    run(graded, "nbgrader", "generate_feedback", "texts", "--student=zoe", "--quiet")
    run(graded, "nbgrader", "generate_feedback", "texts", "--student=mal", "--quiet")
    own, _ = _seen(browser, _feedback(graded, "zoe"))
    asked, text = _seen(browser, _feedback(graded, "mal"))
    assert asked <= own
    assert "elsewhere.invalid" in text  # the text is shown literally


def _feedback(course: Path, student: str) -> str:
    return (course / "feedback" / student / "texts" / "texts.html").as_uri()


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_formgrader_opens_every_page_without_a_students_script(
    graded: Path, browser: Browser
) -> None:
    with _formgrader(graded) as url:
        asked, texts = {}, {}
        for student, number in _pages_to_grade(graded).items():
            address = f"{url}/formgrader/submissions/{number}/?token={TOKEN}"
            asked[student], texts[student] = _seen(browser, address, url)
    assert set(texts) == {"zoe", "mal", *LONG}
    assert all("words_right" in text or "def words" in text for text in texts.values())
    assert "elsewhere.invalid" in texts["mal"]
    assert all(one <= asked["zoe"] for one in asked.values())


@contextmanager
def _formgrader(course: Path) -> Iterator[str]:
    """Yields the address of a server that runs formgrader in the class's folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = [
        *("--allow-root", "--no-browser", "--ServerApp.jpserver_extensions", FORMGRADER),
        *(f"--port={port}", "--port-retries=0", f"--IdentityProvider.token={TOKEN}"),
    ]
    command = [sys.executable, "-m", "jupyter_server", *settings]
    process = subprocess.Popen(
        command, cwd=course, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            assert process.poll() is None
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _pages_to_grade(course: Path) -> dict[str, str]:
    """Returns the formgrader id of each student's notebook."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        found = gradebook.assignment_submissions("texts")
        return {
            str(one.student_id): str(notebook.id) for one in found for notebook in one.notebooks
        }


def _seen(browser: Browser, address: str, own: str = "file:") -> tuple[set[str], str]:
    """Returns a page's external requests and its text; fails if a student's script runs."""
    page, asked = browser.new_page(), set()
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))

    def answer(route: Route) -> None:
        if route.request.url.startswith(own):
            return route.continue_()
        asked.add(route.request.url)
        return route.abort()

    page.route("**/*", answer)
    opened = page.goto(address)
    assert own == "file:" or (opened is not None and opened.ok)
    page.wait_for_timeout(500)
    assert page.evaluate("window.marker") is None
    text = page.inner_text("body")
    page.close()
    return asked, text
