"""Creates the zip that students download; the same files always produce the same bytes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ..errors import GraderError, install_with

#: 2020-01-01, which is used as the date of all files
_EPOCH = "1577836800"
DATE = (2020, 1, 1, 0, 0, 0)


def bundle_bytes(folder: str, files: Mapping[str, bytes]) -> bytes:
    """Returns a zip with `files` in `folder`: sorted, all with the same date, and not compressed.

    The files are not compressed, because different versions of zlib would produce different bytes.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(f"{folder}/{name}", DATE)
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, files[name])
    return buffer.getvalue()


def build_wheel(root: Path, out: Path) -> Path:
    """Builds the project's wheel offline; if this fails, raises `GraderError` with the output."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    result = subprocess.run(
        [*command, "--outdir", str(out), str(root)],
        env={**os.environ, "SOURCE_DATE_EPOCH": _EPOCH},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    wheels = sorted(out.glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        raise GraderError(
            f"the wheel of {root} can't be built (to install what it needs, "
            f"run {install_with('instructor')}):\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
        )
    return wheels[0]
