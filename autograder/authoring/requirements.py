"""`requirements.txt` of a bundle: the wheel in it, and a PyTorch that is not larger than needed."""

from __future__ import annotations

import re
from pathlib import Path

_PIN = re.compile(r"^torch==[\w.]+", re.MULTILINE)
_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
_SMALL_TORCH = f"""\
# PyTorch for the processor alone: some 200 MB to download, 800 MB on the disk. The default build
# for Linux holds what graphics cards need: several GB. The exercises need none of it.
--extra-index-url {_CPU_INDEX}
"""


def requirements_text(root: Path, wheel: str) -> str:
    """What `pip install -r` installs: the course's version of PyTorch, the wheel next to it."""
    constraints = root / "constraints.txt"
    text = constraints.read_text(encoding="utf-8") if constraints.is_file() else ""
    pin = _PIN.search(text)
    small = f"{_SMALL_TORCH}{pin.group(0)}\n" if pin else ""
    return f"{small}./{wheel}\n"
