"""Shows attention for one token and one head in an interactive view that works offline."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from string import Template
from typing import Any

import torch
from IPython.display import display

from ...escaping import for_html
from ...student.display import NotebookOutput, notice
from .arrows import HEADS

#: how the view shows and names invisible characters
_UNSEEN = {"\n": "↵", " ": "\u00a0"}
_UNSEEN_NAMES = {"\n": "end of line", " ": "space"}
_ROUNDED = 0.1  # the weights of a long text are rounded before they are added up
_SHOWN = 5e-3  # only tokens with larger weights are named; others would be "0%"

_VIEW = Template(
    """\
<div id="$id" style="max-width:42em;line-height:1.9;padding:0 2px">
<div style="opacity:.75">$title</div>
<div class="heads" role="group" aria-label="head"></div>
<div class="tokens" style="font-size:1.1em">$tokens</div>
<div class="summary" aria-live="polite" style="opacity:.85;min-height:1.9em"></div>
<style>
#$id .tokens span { display:inline-block; padding:.12em .06em; margin-right:$gap;
  min-width:$narrow; text-align:center; line-height:1.5; border-radius:.2em; cursor:pointer }
#$id .tokens span.query { outline:2px solid #d9822b }
#$id .heads button { font:inherit; color:inherit; background:none; border:2px solid;
  border-radius:.4em; margin:0 .4em .3em 0; padding:0 .5em; cursor:pointer }
#$id .heads button[aria-pressed=true] { font-weight:bold; text-decoration:underline }
</style>
<script>
(() => {
  const root = document.getElementById("$id");
  const weights = $weights, summaries = $summaries, colors = $colors;
  const spans = [...root.querySelectorAll(".tokens span")];
  const summary = root.querySelector(".summary"), heads = root.querySelector(".heads");
  let head = 0, query = $query;
  const percent = weight => Math.round(100 * weight) + "%";
  const shade = (hex, share) =>
    "rgba(" + [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)).join() + "," + share + ")";
  const show = () => {
    const row = weights[head][query];
    spans.forEach((span, key) => {
      span.style.background = shade(colors[head % colors.length], Math.min(0.9, row[key]));
      span.classList.toggle("query", key === query);
      span.title = percent(row[key]);
    });
    summary.textContent = summaries[head][query];
    buttons.forEach((button, number) => button.setAttribute("aria-pressed", number === head));
  };
  const buttons = weights.map((_, number) => {
    const button = document.createElement("button");
    button.textContent = "head " + number;
    button.style.borderColor = colors[number % colors.length];
    button.onclick = () => { head = number; show(); };
    heads.append(button);
    return button;
  });
  heads.hidden = weights.length === 1;
  spans.forEach((span, number) => {
    span.onmouseenter = span.onclick = span.onfocus = () => { query = number; show(); };
  });
  show();
})();
</script>
</div>"""
)


def attention_view(
    weights: Any, tokens: Sequence[str], title: str = "", query: int | None = None
) -> None:
    """Show tokens, each colored by the attention that the token under the pointer pays to it.

    Args:
        weights: (T, T), or (H, T, T) for H heads, where row t contains query t's weights for each
            token; or a student's answer, a function that is called without arguments (if the call
            raises an exception, a notice is shown instead).
        tokens: the T tokens, which are words or single letters.
        title: the text above the view.
        query: the index of the query that is shown first; the last token by default.

    Raises:
        ValueError: the weights are not a table of T rows and T columns for each head.
    """
    try:
        given = weights() if callable(weights) else weights
    except Exception:  # the answer is missing or fails; its check says why
        display(notice("○", f"{title}: not implemented yet"))  # type: ignore[no-untyped-call]
        return
    table = torch.as_tensor(given).detach().double().cpu()
    table = table[None] if table.dim() == 2 else table
    count = len(tokens)
    if table.dim() != 3 or table.shape[1:] != (count, count):
        raise ValueError(
            f"weights of shape {tuple(table.shape)} do not fit {count} tokens: each head needs "
            f"a table of shape {(count, count)}"
        )
    asking = count - 1 if query is None else query
    heads = "1 head" if len(table) == 1 else f"{len(table)} heads"
    summary = f"{title}: {heads} over {count} tokens (an interactive view in a notebook)"
    shown = NotebookOutput(summary, _page(table, list(tokens), title, asking))
    display(shown)  # type: ignore[no-untyped-call]


def _page(table: torch.Tensor, tokens: list[str], title: str, query: int) -> str:
    letters = all(len(token) <= 1 for token in tokens)
    spans = "".join(
        f'<span tabindex="0" role="button">{for_html(_UNSEEN.get(token, token))}</span>'
        for token in tokens
    )
    rounded = [[[round(w, 3) for w in row] for row in head] for head in table.tolist()]
    names = [_UNSEEN_NAMES.get(token, token) for token in tokens]
    return _VIEW.substitute(
        id=f"attention-{uuid.uuid4().hex}",
        title=for_html(title),
        tokens=spans,
        gap="0" if letters else "0.35em",
        narrow="0.35em" if letters else "1.3em",  # wide enough to tap on a phone
        summaries=_json(
            [[_summary(row, place, names) for place, row in enumerate(head)] for head in rounded]
        ),
        weights=_json(rounded),
        colors=_json(list(HEADS)),
        query=query,
    )


def _summary(row: list[float], query: int, names: list[str]) -> str:
    """Return a sentence that names the tokens, at most three, with the largest weights.

    A wrong answer may give weights that do not sum to one; the sentence then says so.
    """
    first, *others = sorted(range(len(row)), key=lambda key: -row[key])[:3]
    best = [first, *(key for key in others if row[key] > _SHOWN)]
    looks = ", ".join(f'"{names[key]}" {row[key]:.0%}' for key in best)
    total = sum(row)
    wrong = f"; its weights sum to {total:.2f}, not to 1" if abs(total - 1.0) > _ROUNDED else ""
    return f'"{names[query]}" looks at {looks}{wrong}'


def _json(value: object) -> str:
    """Return JSON that can't close the script element around it."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
