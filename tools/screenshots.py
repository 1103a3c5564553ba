"""Writes the pictures for docs/students.md, which show a notebook in JupyterLab, in a real browser.

    .venv/bin/python tools/screenshots.py [FOLDER]

Needs Chromium (apt-get install chromium). In the notebook, one answer is correct, one is wrong, and
all cells have run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

ROOT = Path(__file__).parents[1]
ASSIGNMENT = "simplified_attention"
#: a student's answers; the second one confuses keys with queries
ANSWERS = {
    "query_scores": ("raise NotImplementedError", "return inputs @ query"),
    "attention_scores": ("raise NotImplementedError", "return queries @ queries.transpose(-2, -1)"),
}
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Screenshot:
    """A picture of several cells, which begins with the cell that contains `text`."""

    file: str
    text: str
    cells: int
    theme: str
    width: int


SHOTS = (
    Screenshot("student-right.png", 'check("query_scores")', 3, "JupyterLab Light", 900),
    Screenshot("student-wrong.png", 'check("attention_scores")', 1, "JupyterLab Light", 900),
    Screenshot("student-dark-phone.png", 'check("query_scores")', 3, "JupyterLab Dark", 390),
)


def prepare(folder: Path) -> None:
    """Copies an assignment, fills in the answers, and runs the cells."""
    shutil.copytree(ROOT / "assignments" / ASSIGNMENT, folder, dirs_exist_ok=True)
    path = folder / "scores.ipynb"
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # no types
    for cell in notebook.cells:
        stub, answer = ANSWERS.get(cell.id, ("", ""))
        cell.source = cell.source.replace(stub, answer) if stub else cell.source
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute()
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]  # no types


def configure(settings: Path, theme: str) -> None:
    """Writes settings for JupyterLab: a theme, no news, and all cells on the page."""
    for plugin, values in {
        "apputils-extension/themes": {"theme": theme},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
        "notebook-extension/tracker": {"windowingMode": "none"},
    }.items():
        path = settings / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")


@contextlib.contextmanager
def lab(folder: Path, settings: Path) -> Iterator[str]:
    """Within the block, runs JupyterLab in a folder; yields its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = ["--no-browser", "--allow-root", "--IdentityProvider.token=", f"--port={port}"]
    command = [sys.executable, "-m", "jupyterlab", *options, f"--notebook-dir={folder}"]
    environment = {**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(settings)}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/api")
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait_for(address: str) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen(address).close()
            return
        time.sleep(0.5)
    raise SystemExit("screenshots: JupyterLab does not answer")


def take(browser: Browser, address: str, shot: Screenshot, target: Path) -> None:
    """Opens the notebook, and writes a picture of its cells."""
    page = browser.new_page(viewport={"width": shot.width, "height": 900})
    page.set_default_timeout(_SECONDS * 1000)
    page.goto(f"{address}/doc/tree/scores.ipynb")
    page.locator(".jp-RenderedHTMLCommon mjx-container, .jp-OutputArea img").first.wait_for()
    page.set_viewport_size({"width": shot.width, "height": 9000})
    page.wait_for_timeout(3000)
    page.screenshot(path=target, clip=_area(page, shot))
    page.close()


def _area(page: Page, shot: Screenshot) -> FloatRect:
    cells = page.locator(".jp-Notebook .jp-Cell")
    first = cells.filter(has_text=shot.text).first
    number = first.evaluate("cell => [...cell.parentNode.children].indexOf(cell)")
    boxes = [cells.nth(number + more).bounding_box() for more in range(shot.cells)]
    found = [box for box in boxes if box is not None]
    top, bottom = found[0]["y"], found[-1]["y"] + found[-1]["height"]
    left, width = found[0]["x"], found[0]["width"]
    return FloatRect(x=left, y=top, width=width, height=bottom - top)


def main() -> None:
    """Writes all pictures into the given folder (default: docs/images)."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("screenshots: no Chromium; fix: apt-get install chromium")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder, settings = Path(scratch, ASSIGNMENT), Path(scratch, "settings")
        prepare(folder)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with lab(folder, settings) as address:
            for shot in SHOTS:
                configure(settings, shot.theme)
                take(browser, address, shot, target / shot.file)
                print(target / shot.file)
        browser.close()


if __name__ == "__main__":
    main()
