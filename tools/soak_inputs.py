"""Draws random submissions, which may be well formed or damaged, and small or very large.

An input depends only on its number and a seed, so that it can be reproduced.
"""

from __future__ import annotations

import io
import json
import random
import tarfile
import zipfile
from dataclasses import dataclass

PIECES = (
    *("def f(x):", "class A:", "class A(A):", "    return x", "\treturn f", "@f", "f = g(f)", "f("),
    *("A.f = f", "f = lambda: A", "import f, A.b", "from f import *", "%magic", "!ls", "x = !ls"),
    *(
        "%%time",
        "%%bash",
        "f?",
        "return 3",
        "nonlocal f",
        "await f",
        "for f in A:",
        "try:",
        "del f",
    ),
    *("with f as A:", "    f = 1", "except f as A:", "f += 1", ")", "\\", '"""', "'", "\0", "\x0c"),
    *("# coding: utf-7", "from __future__ import annotations", "\u2028", "a = 1; def f(): 0"),
    *("if f:", "else:", "match f:", "    case A: 1", "setattr(A, 'f', f)", "𝕗 = 1", "global f"),
    *("async def f(): yield", "f: A = 1", "(yield)", "[f for f in A]", "f = f = A", "f'{f}'"),
)
#: pieces for large inputs: some of them are drawn, joined and repeated
_SIGNS = (
    *(" ", "\t", "\n", "\r", "(", "[", "{", ")", "-", "~", "'", '"', '"""', "\\", "?", "!", "%"),
    *("a", "1", ".", ",", "=", ";", ":", "@f\n", "#", "`", "*", "_", "<a ", "&", "![", "](", "0."),
    *(
        "x = x\n",
        "def f(): f\n",
        "class f: 0\n",
        "f = g(f)\n",
        "f.a = f\n",
        "!ls\n",
        "%a\n",
        "x?\n",
    ),
    *("lambda: ", "not ", "import f\n", "f'{", "é", "\u2028", "\ud800", "𝕗", "async "),
    "if x:\n ",
)
_NAMES = (
    *("ada/x.py", "../x", "/x", "b_1_2_x.py", "x" * 300, "é/\u202e", "C:x", "a\\b.py", "CON", "."),
    *("ada/a/e.py", "Ada_7_assignsubmission_file_/e.ipynb", "ada_LATE_1_2_e.py", "\x1b[2J.py"),
)
#: the range for the number of characters in a large input, which is drawn on a logarithmic scale
_SMALLEST, _LARGEST = 2_000, 3_000_000


@dataclass(frozen=True, slots=True)
class DrawnInput:
    """An input and its file type: `module`, `notebook` or `archive`."""

    kind: str
    data: bytes


def drawn(seed: int, number: int) -> DrawnInput:
    """Returns the input for a seed and a number."""
    chance = random.Random(f"{seed}/{number}")
    kind = chance.choices(
        ["notebook", "module", "archive", "large notebook", "large module", "outputs"],
        [40, 28, 30, 1, 0.95, 0.05],
    )[0]
    data = {
        "notebook": lambda: _notebook(chance),
        "module": lambda: _lines(chance, 20).encode(*_encoding(chance)),
        "archive": lambda: _archive(chance),
        "large notebook": lambda: _large_notebook(chance),
        "large module": lambda: _repeated(chance).encode("utf-8", "surrogatepass"),
        "outputs": lambda: _outputs(chance),
    }[kind]()
    if chance.random() < 0.3 and kind != "outputs":
        data = _damaged(data, chance)
    kind = "notebook" if kind == "outputs" else kind.rpartition(" ")[2]
    return DrawnInput(kind, data)


def _encoding(chance: random.Random) -> tuple[str, str]:
    return chance.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), "replace"


def _lines(chance: random.Random, most: int) -> str:
    end = chance.choice(["\n", "\r\n", "\n    ", ""])
    return end.join(chance.choices(PIECES, k=chance.randrange(most)))


def _notebook(chance: random.Random) -> bytes:
    cells = []
    for _ in range(chance.randrange(6)):
        kind = chance.choice(["code"] * 6 + ["markdown", "raw", "x", 3])
        cell = {"cell_type": kind, chance.choice(["source", "source", "input"]): _lines(chance, 8)}
        if chance.random() < 0.2:
            cell["metadata"] = _value(chance, 4)
            cell["outputs"] = _value(chance, 4)
        cells.append(cell)
    form = chance.randrange(5)
    document: dict[str, object] = {"cells": cells}
    if form == 0:
        document = {"worksheets": [{"cells": cells}]}
    if chance.random() < 0.2:
        document["metadata"] = _value(chance, 5)
    return json.dumps(document).encode(chance.choice(["utf-8", "utf-8-sig", "utf-16"]))


def _value(chance: random.Random, depth: int) -> object:
    """Returns any JSON value, including NaN, Infinity and lone surrogates."""
    kind = chance.randrange(8 if depth else 6)
    plain = (None, True, -(10**30), float("nan"), float("inf"), "\ud800\u202e\0")
    if kind < 6:
        return plain[kind]
    inner = [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return inner if kind == 6 else {chance.choice("ab"): item for item in inner}


def _repeated(chance: random.Random) -> str:
    """Returns some characters repeated many times, with other text before and after them."""
    size = int(_SMALLEST * (_LARGEST / _SMALLEST) ** chance.random())
    again = "".join(chance.choices(_SIGNS, k=chance.choice([1, 1, 2, 3, 6])))
    ends = [chance.choice(["", *PIECES, *_SIGNS]) for _ in range(2)]
    return ends[0] + again * (size // len(again)) + ends[1]


def _large_notebook(chance: random.Random) -> bytes:
    text = _repeated(chance)
    kind = chance.choice(["code", "code", "markdown", "raw"])
    at = chance.choice([len(text), len(text), 40, 400, 4000])
    sources = [text[start : start + at] for start in range(0, len(text), at)]
    cells = [{"cell_type": kind, "source": source} for source in sources]
    return json.dumps({"cells": cells}).encode()


def _outputs(chance: random.Random) -> bytes:
    """Returns a notebook with little code, but up to 100 MB of output."""
    size = int(1_000_000 * 100 ** chance.random())
    inner = chance.choice(['"A"', "[]", "{}", "0,0,0,0,0,0,0", '{"a":[1,2]}', '"\\ud800"'])
    body = ",".join([inner] * (size // (len(inner) + 1)))
    cell = '{"cell_type":"code","source":"def f(x):\\n    return x","outputs":[' + body + "]}"
    return f'{{"cells":[{cell}]}}'.encode()


def _archive(chance: random.Random, depth: int = 0) -> bytes:
    if chance.random() < 0.1:
        return _tar(chance)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", chance.choice([0, 8, 12, 14])) as archive:
        for number in range(chance.randrange(4)):
            name = chance.choice(_NAMES)
            if depth < 5 and chance.random() < 0.3:
                archive.writestr(f"{number}.zip", _archive(chance, depth + 1))
                continue
            info = zipfile.ZipInfo(name if chance.random() < 0.5 else f"{number}{name}")
            # any kind of file, such as a link, a device or a folder
            info.external_attr = chance.choice([0o10, 0o12, 0o2, 0o4, 0o6]) << 28 | 0o777 << 16
            archive.writestr(info, chance.randbytes(chance.randrange(200)))
    return buffer.getvalue()


def _tar(chance: random.Random) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo(chance.choice(_NAMES)[:90])
        info.type, info.linkname = chance.choice([b"0", b"1", b"2", b"3"]), "../../etc/passwd"
        archive.addfile(info, io.BytesIO(b""))
    return buffer.getvalue()


def _damaged(data: bytes, chance: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(chance.randrange(1, 12)):
        if raw:
            raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw[: chance.randrange(len(raw) + 1)] if chance.random() < 0.3 else raw)
