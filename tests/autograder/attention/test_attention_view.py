"""The interactive view needs no network, displays any token, and reports a missing answer."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest
import torch
from playwright.sync_api import sync_playwright

from autograder.attention.notebooks import attention_view as module
from autograder.attention.notebooks.attention_view import attention_view

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Returns the list to which all displayed HTML is appended."""
    shown: list[Any] = []
    monkeypatch.setattr(module, "display", shown.append)
    return shown


def test_the_page_contains_every_weight_and_loads_nothing(pages: list[Any]) -> None:
    weights = torch.rand(2, 3, 3).softmax(-1)
    attention_view(weights, ["a", "<b>", "c"], "who & whom", query=1)
    page = pages[0]._repr_html_()
    found = re.search(r"weights = (\[.*\]), summaries", page)
    assert found
    assert torch.allclose(torch.tensor(json.loads(found[1])), weights, atol=6e-4)
    assert "let head = 0, query = 1;" in page
    assert "<b>" not in page and "who &amp; whom" in page
    assert "http" not in page


def test_the_summary_leaves_out_tokens_with_almost_no_weight(pages: list[Any]) -> None:
    weights = torch.tensor([[1.0, 0, 0, 0], [0.2, 0.8, 0, 0], [0.3, 0.3, 0.396, 0.004], [0.25] * 4])
    attention_view(weights, ["Vo", "bi", "\n", "So"])
    found = re.search(r"summaries = (\[.*\]), colors", pages[0]._repr_html_())
    assert found
    assert json.loads(found[1]) == [
        [
            '"Vo" looks at "Vo" 100%',
            '"bi" looks at "bi" 80%, "Vo" 20%',
            '"end of line" looks at "end of line" 40%, "Vo" 30%, "bi" 30%',
            '"So" looks at "Vo" 25%, "bi" 25%, "end of line" 25%',
        ]
    ]


def test_the_summary_names_weights_that_do_not_sum_to_one(pages: list[Any]) -> None:
    attention_view(torch.tensor([[3.0, 1.0], [0.5, 0.5]]), ["was", "it"])
    page = pages[0]._repr_html_()
    assert '\\"was\\" 300%, \\"it\\" 100%; its weights sum to 4.00, not to 1"' in page
    assert page.count("not to 1") == 1


@pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium")
def test_the_view_follows_the_pointer_and_the_chosen_head(pages: list[Any]) -> None:
    weights = torch.tensor([[[1.0, 0], [0.75, 0.25]], [[1.0, 0], [0, 1.0]]])
    attention_view(weights, ["Anna", "met"], query=0)
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.set_content(pages[0]._repr_html_())
        found = [page.locator(".summary").inner_text()]
        page.locator(".tokens span").nth(1).hover()
        found.append(page.locator(".summary").inner_text())
        page.locator(".heads button").nth(1).click()
        found.append(page.locator(".summary").inner_text())
        browser.close()
    assert found == [
        '"Anna" looks at "Anna" 100%',
        '"met" looks at "Anna" 75%, "met" 25%',
        '"met" looks at "met" 100%',
    ]
    assert asked == []


def test_two_views_are_independent(pages: list[Any]) -> None:
    for _ in range(2):
        attention_view(torch.eye(2), ["a", "b"])
    ids = [re.findall(r'id="(\S+)"', page._repr_html_()) for page in pages]
    assert len(ids[0]) == 1 and ids[0] != ids[1]


def test_a_missing_answer_is_not_an_error(pages: list[Any]) -> None:
    def stub() -> torch.Tensor:
        raise NotImplementedError

    attention_view(stub, ["a"], "mine")
    assert repr(pages[0]) == "○ mine: not implemented yet"


def test_weights_of_other_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit 2 tokens: each head needs"):
        attention_view(torch.eye(3), ["a", "b"])
