"""A student and an instructor use JupyterHub by clicking in a real browser.

With `AUTOGRADER_IMAGES=docs/images`, the test also saves the pictures for the documentation.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
from collections.abc import Iterator

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect, sync_playwright

from .commands import run_command
from .conftest import ASSIGNMENT, COURSE, REPOSITORY
from .hub import PASSWORD, SECONDS, Hub, running_hub

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run"]
COMMENT = "Nearly: which rows belong to the queries?"

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium"),
    pytest.mark.skipif(
        shutil.which("bwrap") is None, reason="needs bubblewrap: apt-get install bubblewrap"
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("jupyterhub") is None, reason="JupyterHub is not installed"
    ),
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """Runs a hub whose instructor has a class folder with our assignment."""
    root = tmp_path_factory.mktemp("jupyterhub") / "hub"
    with running_hub(root, ("ada", "instructor")) as hub:
        folder, exchange = hub.home / "instructor" / COURSE, root / "exchange"
        exchange.mkdir()
        exchange.chmod(0o777)
        command = ["autograder", "nbgrader", folder, ASSIGNMENT, "--course", REPOSITORY]
        run_command(command, root, os.environ).check_returncode()
        # the administrator's configuration for everybody, and the instructor's own
        (root / "etc" / "nbgrader_config.py").write_text(
            f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n"
        )
        (hub.home / "instructor" / ".jupyter" / "nbgrader_config.py").write_text(
            f"c = get_config()\nload_subconfig('nbgrader_config.py', path={str(folder)!r})\n"
        )
        for user in ("ada", "instructor"):
            hub.start_server(user)
        yield hub


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Runs the system's Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        expect.set_options(timeout=SECONDS * 1000)
        yield browser
        browser.close()


def lab_of(browser: Browser, hub: Hub, user: str) -> Page:
    context = browser.new_context(viewport={"width": 1000, "height": 700})
    context.set_default_timeout(SECONDS * 1000)
    page = context.new_page()
    page.goto(f"{hub.url}/hub/login?next=/hub/user-redirect/lab")
    page.fill("#username_input", user)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")
    page.locator(".jp-Launcher").wait_for()
    page.keyboard.press("Control+b")  # hides the file list, which takes up space
    return page


def choose(page: Page, item: str) -> None:
    """Chooses an item in the menu "Nbgrader"."""
    page.click("#jp-MainMenu >> text=Nbgrader")
    page.click(f".lm-Menu-itemLabel:text-is('{item}')")


def formgrader(page: Page) -> FrameLocator:
    return page.frame_locator("#formgrader-iframe iframe")


def click_and_confirm(frame: FrameLocator, button: str, message: str) -> None:
    """Clicks a button in formgrader, and closes the dialog that then appears."""
    frame.locator(button).click()
    frame.locator(".modal-body", has_text=message).wait_for()
    frame.locator(".modal-footer button").click()
    frame.locator(".modal").wait_for(state="detached")


#: the prompt of a cell that is running or has run
_HAS_RUN = re.compile(r"\[(\*|\d+)\]")


def run_cell(page: Page, text: str) -> Locator:
    cell = page.locator(f".jp-CodeCell:has-text('{text}')").first
    for _ in range(3):  # a click has no effect while the kernel starts
        cell.locator(".jp-InputPrompt").click()
        page.click(".jp-NotebookPanel-toolbar [data-jp-item-name=run]")
        with contextlib.suppress(AssertionError):
            expect(cell.locator(".jp-InputPrompt")).to_contain_text(_HAS_RUN, timeout=10_000)
            break
    return cell


def write_answer(page: Page, question: str, line: str) -> None:
    """Replaces the `raise` line at the end of the answer's cell, and runs the cell."""
    page.locator(f".jp-CodeCell:has-text('def {question}') .cm-content").first.click()
    page.keyboard.press("Control+End")
    page.keyboard.press("Shift+Home")
    page.keyboard.insert_text(line)
    run_cell(page, f"def {question}")


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("AUTOGRADER_IMAGES"):
        page.screenshot(path=REPOSITORY / folder / f"{name}.png")


def test_from_release_to_feedback(hub: Hub, browser: Browser) -> None:
    instructor = lab_of(browser, hub, "instructor")
    release(instructor)
    ada = lab_of(browser, hub, "ada")
    fetch_and_open(ada, "scores")
    right = answer_and_check(ada, "query_scores", "return inputs @ query")
    expect(right).to_contain_text("✓")
    edit_and_undo(ada, "query_scores", right.locator("div:has(> div > .autograder-ran)"))
    turned = "return keys @ queries.transpose(-2, -1)"
    wrong = answer_and_check(ada, "attention_scores", turned)
    expect(wrong).to_contain_text("✗")
    wrong.scroll_into_view_if_needed()
    picture(ada, "nbgrader-check")
    save_and_submit(ada)
    collect_and_autograde(instructor)
    course = hub.home / "instructor" / COURSE
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        assert 10 < book.find_submission(ASSIGNMENT, "ada").score < 30
    assert json.loads((course / "results.jsonl").read_text())["student"] == "ada"
    grade_by_hand(instructor)
    give_feedback(instructor)
    text = read_feedback(ada, hub)
    assert "query_scores: Correct, 10 of 10 points." in text
    assert "scores (Score: 22.0 / 30.0)" in text
    assert COMMENT in text
    assert "Known mistake: Transposed." in text and "Hint:" in text


def release(page: Page) -> None:
    choose(page, "Formgrader")
    click_and_confirm(formgrader(page), ".assign a", "Successfully created")
    click_and_confirm(formgrader(page), ".release a", "Successfully released")


def fetch_and_open(page: Page, notebook: str) -> None:
    choose(page, "Assignment List")
    page.click("#released_assignments_list button:text-is('Fetch')")
    page.click(f"#fetched_assignments_list >> text={ASSIGNMENT}")
    picture(page, "nbgrader-assignment-list")
    page.click(f"#fetched_assignments_list >> text={notebook}")
    page.locator(".jp-NotebookPanel-toolbar", has_text="Python 3").wait_for()
    run_cell(page, "from autograder.student import check")


def answer_and_check(page: Page, question: str, line: str) -> Locator:
    """Writes an answer; returns the output of the question's check cell."""
    write_answer(page, question, line)
    return run_cell(page, f'check("{question}")').locator(".jp-OutputArea")


def edit_and_undo(page: Page, question: str, result: Locator) -> None:
    """Edits an answer without running it; the green result turns orange until this is undone."""
    green, orange = "rgb(46, 158, 79)", "rgb(217, 72, 15)"
    expect(result).to_have_css("border-left-color", green)
    page.locator(f".jp-CodeCell:has-text('def {question}') .cm-content").first.click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(" + 1")
    expect(result).to_have_css("border-left-color", orange)
    for _ in " + 1":
        page.keyboard.press("Backspace")
    expect(result).to_have_css("border-left-color", green)


def save_and_submit(page: Page) -> None:
    page.keyboard.press("Control+s")
    page.locator(".jp-mod-dirty").wait_for(state="detached")
    page.click(".lm-TabBar-tabLabel:text-is('Assignments')")
    page.click("#fetched_assignments_list button:text-is('Submit')")
    page.locator(f"#submitted_assignments_list >> text={ASSIGNMENT}").wait_for()


def collect_and_autograde(page: Page) -> None:
    frame = formgrader(page)
    click_and_confirm(frame, ".collect a", "Successfully collected")
    frame.locator(".num-submissions a").click()
    click_and_confirm(frame, ".autograde a", "Successfully autograded")
    frame.locator("#main-table", has_text="ada").wait_for()


def grade_by_hand(page: Page) -> None:
    frame = formgrader(page)
    frame.locator("text=Manual Grading").click()
    frame.locator(f"#main-table a:text-is('{ASSIGNMENT}')").click()
    frame.locator("#main-table a:text-is('scores')").click()
    frame.locator("#main-table a:has-text('Submission #1')").click()
    # the page sets the placeholders after it has loaded grades and comments
    score = frame.locator("input#check_attention_scores[placeholder]:not([placeholder=''])")
    with page.expect_response(lambda answer: "/api/grade/" in answer.url and answer.ok):
        score.fill("12")
        score.press("Tab")
    comment = frame.locator("textarea#attention_scores-comment[placeholder*='Hint:']")
    with page.expect_response(lambda answer: "/api/comment/" in answer.url and answer.ok):
        comment.fill(COMMENT)
        comment.press("Tab")
    comment.scroll_into_view_if_needed()
    picture(page, "nbgrader-grading")


def give_feedback(page: Page) -> None:
    """Generates the feedback and releases it."""
    frame = formgrader(page)
    frame.locator(".breadcrumb a:has-text('Manual Grading')").click()
    frame.locator("text=Manage Assignments").click()
    frame.locator(".num-submissions a").click()
    click_and_confirm(frame, ".generate-feedback a", "Successfully generated feedback")
    click_and_confirm(frame, ".release-feedback a", "Successfully released feedback")


def read_feedback(page: Page, hub: Hub) -> str:
    page.click("#refresh_assignments_list")
    page.click("#submitted_assignments_list button:text-is('Fetch Feedback')")
    page.locator("#submitted_assignments_list >> text=(view feedback)").first.wait_for()
    (feedback,) = (hub.home / "ada" / ASSIGNMENT / "feedback").rglob("scores.html")
    page.goto(f"{hub.url}/user/ada/files/{feedback.relative_to(hub.home / 'ada')}")
    page.get_by_text(COMMENT).first.scroll_into_view_if_needed()
    picture(page, "nbgrader-feedback")
    return page.locator("body").inner_text()
