"""Fuzzes all code that reads students' files; uses atheris, which measures the code's coverage.

    python tools/fuzz.py READER [libFuzzer's options, such as -runs=10000, or a file to try again]

A reader must return a value or report a problem with the input; any other exception ends the run,
and libFuzzer writes the input to a file. `tools/soak.py` runs all readers.
"""

from __future__ import annotations

import contextlib
import io
import json
import keyword
import shutil
import struct
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
with atheris.instrument_imports(include=["autograder", "json", "zipfile"]):
    from autograder.collecting import collect
    from autograder.collecting.download_entries import contents_of, entries_of
    from autograder.collecting.downloaded import DownloadEntry, ReadingAllowance
    from autograder.errors import SubmissionError
    from autograder.records import Exercise, Question
    from autograder.submission import module_of_notebook, read_exercise
    from autograder.worker import wire

NAMES = ("f", "A")
#: an example of each kind of file, with which the fuzzer begins
CODE = (
    b"import torch\ndef f(x):\n    return x\nclass A(f):\n    y: int = 1\nf = g(f)\nA.f = f\n",
    b"%matplotlib inline\n!ls\nx = !ls\n%%time\nf?\nfor f in A:\n    with f as A: pass\n",
    b"# coding: latin-1\ntry:\n    import f\nexcept A as f:\n    del f\nmatch f:\n    case A: 1\n",
)


#: words that the fuzzer may insert anywhere, in addition to those that it finds
WORDS = (
    *keyword.kwlist,
    *(
        "f(",
        "A.f",
        "    ",
        "\t",
        "\n",
        "\x0c",
        '"""',
        "%%",
        "!ls",
        "?",
        "# coding: ",
        "\u2028",
        "\\\n",
    ),
    *('{"cells":[', '"source":', '"cell_type":"code"', '"worksheets":', '"input":', "\ufeff"),
    *("PK\3\4", "PK\1\2", "PK\5\6", "../", ".zip", "_LATE_", "_assignsubmission_file_"),
    *('{"T":[', '{"U":[', '{"D":[[', '{"S":0}', '{"N":[["', '"float32"', '"bool"', "1e999", "NaN"),
)


class ExerciseFolder:
    """A folder with an exercise, for readers of files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        questions = (Question("f", False, 1), Question("A", True, 2))
        paths = (folder / name for name in ("s.py", "stub", "h", "p", "t.py"))
        self.exercise = Exercise("a", "e", questions, *paths)

    def notebook(self, data: bytes) -> None:
        """Reads any bytes as a notebook."""
        with contextlib.suppress(SubmissionError):
            compile(module_of_notebook(data, NAMES).text, "<module>", "exec")

    def cells(self, data: bytes) -> None:
        """Reads any text as notebook cells, separated by form feeds."""
        sources = data.decode(errors="replace").split("\x0c")
        cells = [{"cell_type": "code", "source": source} for source in sources]
        self.notebook(json.dumps({"cells": cells}).encode())

    def module(self, data: bytes) -> None:
        """Reads any bytes as a module."""
        (self.folder / "e.py").write_bytes(data)
        compile(read_exercise(self.folder, self.exercise).text, "<module>", "exec")

    def archive(self, data: bytes) -> None:
        """Reads any bytes as an archive."""
        path = self.folder / "submissions.zip"
        path.write_bytes(data)
        with entries_of(path) as found:
            for entry in found:
                if isinstance(entry, DownloadEntry):
                    list(contents_of(entry, ReadingAllowance()))

    def members(self, data: bytes) -> None:
        """Reads a valid archive; each line of the data is the name and the contents of a member."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for line in data.split(b"\n")[:50]:
                info = zipfile.ZipInfo(line.decode(errors="replace"))
                info.extra, info.external_attr = line[:12], int.from_bytes(line[-4:], "big")
                with contextlib.suppress(ValueError):
                    archive.writestr(info, line)
        path = self.folder / "submissions.zip"
        path.write_bytes(buffer.getvalue())
        submitted = self.folder / "submitted"
        collect([path], submitted, {"a": ["e"], "b": ["e", "x"]})
        for place in (submitted, self.folder / "earlier"):
            shutil.rmtree(place, ignore_errors=True)
        left = {entry.name for entry in self.folder.iterdir()}
        assert left <= {"corpus", "words", "submissions.zip", ".collecting.lock"}, left

    def reply(self, data: bytes) -> None:
        """Reads any bytes as a worker's reply: the header, a zero byte, and the tensors."""
        header, _, tensors = data.partition(b"\0")
        with contextlib.suppress(wire.BadFrame):
            wire.decode(header, bytearray(tensors))


def examples(reader: str) -> list[bytes]:
    """Returns inputs that the reader accepts, for the fuzzer to change."""
    cells = [{"cell_type": "code", "source": code.decode()} for code in CODE]
    notebooks = [
        json.dumps({"cells": cells}).encode(),
        json.dumps({"worksheets": [{"cells": [{"input": ["f = 1\n"]}]}]}).encode("utf-16"),
    ]
    replies = [
        b'{"U":["ok",{"L":[1,{"T":["float32",[1],false]},{"S":0}]}]}\0\0\0\0\0',
        b'{"N":[["a",{"M":["bool",[2,3]]}],["b",{"D":[["k",null]]}]]}',
    ]
    return {
        "notebook": notebooks,
        "cells": list(CODE),
        "module": [*CODE, *notebooks],
        "members": [
            b"ada/a/e.py\nbob_LATE_1_2_e.py\nA B_7_assignsubmission_file_/e.ipynb\n../x\n/x\n\\",
        ],
        "archive": [_archive(0), _archive(8), _archive(14)],
        "reply": replies,
    }[reader]


def _archive(method: int) -> bytes:
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w", method) as archive:
        archive.writestr("x.py", CODE[0])
    with zipfile.ZipFile(outer, "w", method) as archive:
        info = zipfile.ZipInfo("ada_12_34_x.py")
        info.extra = struct.pack("<HHBI", 0x5455, 5, 1, 1_700_000_000)
        archive.writestr(info, CODE[1])
        archive.writestr("ada/more.zip", inner.getvalue())
    return outer.getvalue()


def _escaped(word: str) -> str:
    """Formats a word for libFuzzer's dictionary."""
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


def main() -> None:
    """Fuzzes one reader; libFuzzer ends the process."""
    reader, options = sys.argv[1], sys.argv[2:]
    warnings.simplefilter("ignore")  # warnings about odd code are for its author
    with tempfile.TemporaryDirectory() as folder:
        place, corpus = ExerciseFolder(Path(folder)), Path(folder) / "corpus"
        corpus.mkdir()
        for number, data in enumerate(examples(reader)):
            (corpus / str(number)).write_bytes(data)
        words = Path(folder) / "words"
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS))
        tries_again = [option for option in options if not option.startswith("-")]
        read = getattr(place, reader)
        atheris.Setup(
            [sys.argv[0], f"-dict={words}", *options, *([] if tries_again else [str(corpus)])],
            lambda data: read(bytes(data)),
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
