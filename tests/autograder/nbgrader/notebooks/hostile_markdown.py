"""Markdown cells that try to run a script, fetch something, or prevent a page from being made."""

from __future__ import annotations

#: scripts set this mark if they run, and all addresses have this host
MARK, HOST = "window.marker = 1", "http://elsewhere.invalid"

CELLS = (
    f"<script>{MARK}</script>",
    f"<img src=x onerror='{MARK}'>",
    f"<svg onload='{MARK}'></svg>",
    f"<svg><script>{MARK}</script></svg>",
    f"<body onload='{MARK}'>",
    f"<details open ontoggle='{MARK}'><summary>x</summary></details>",
    f'<iframe src="javascript:parent.{MARK}"></iframe>',
    f'<iframe srcdoc="<script>parent.{MARK}</script>"></iframe>',
    f'<object data="data:text/html,<script>parent.{MARK}</script>"></object>',
    f"<embed src='{HOST}/a.svg'>",
    f"<meta http-equiv=refresh content='0;url={HOST}/b'>",
    f"<base href='{HOST}/'>",
    f"<link rel=stylesheet href='{HOST}/c.css'>",
    f"<style>@import url('{HOST}/d.css'); * {{ display: none }}</style>",
    f"<div style=\"background: url('{HOST}/e.png'); position: fixed; inset: 0\">x</div>",
    f"<form action='{HOST}/f'><button autofocus onfocus='{MARK}'>x</button></form>",
    f"<video autoplay poster='{HOST}/g.png'><source onerror='{MARK}'></video>",
    f"<math><mtext><table><mglyph><style><img src=x onerror='{MARK}'></style></mglyph></table>",
    f"![a]({HOST}/h.png)",
    f"![b][r]\n\n[r]: {HOST}/i.png",
    "![c](//elsewhere.invalid/j.png)",
    f"<img srcset='{HOST}/k.png 1x'>",
    "![z](attachment:x.svg)",
    "![z](&#97;ttachment:y.svg)",
    "<img src='attachment:missing.png'>",
    f"[click](javascript:{MARK.replace(' ', '')})",
    f"[click](data:text/html,<script>{MARK.replace(' ', '')}</script>)",
    f"$$\\href{{javascript:{MARK}}}{{x}}$$",
    f"$\\style{{background: url({HOST}/l.png)}}{{x}}$",
    ">" * 2_000 + " deep",
    "*a **b " * 2_000,
    f"`</code><img src=x onerror='{MARK}'>`",
    f"<!-- --!><img src=x onerror='{MARK}'> -->",
    f"{{{{ cycler.__init__.__globals__ }}}} {{% raw %}} <x y='{MARK}'>",
)
