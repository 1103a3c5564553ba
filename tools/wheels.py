"""Builds a release's two wheels in dist/wheels: one for graders, and one for students.

    .venv/bin/python -m tools.wheels [--to FOLDER]

Building the wheels needs no network, and the same sources give the same bytes. Every bundle
contains the students' wheel (`autograder release` packs it), so only other courses need the
students' wheel that is written here.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from autograder.authoring.package_wheel import package_wheel
from autograder.authoring.student_wheel import student_wheel

ROOT = Path(__file__).resolve().parent.parent


def build_wheels(to: Path) -> tuple[Path, Path]:
    """Writes the graders' and the students' wheel to a folder, and removes older wheels from it."""
    with tempfile.TemporaryDirectory() as scratch:
        built = package_wheel(ROOT, Path(scratch))
        files = {built.name: built.read_bytes()}
    name, content = student_wheel(built.name, files[built.name])
    files[name] = content
    to.mkdir(parents=True, exist_ok=True)
    for old in to.glob("attention_autograder-*.whl"):
        old.unlink()
    for name, content in files.items():
        (to / name).write_bytes(content)
    full, small = (to / name for name in files)
    return full, small


def main() -> None:
    """Builds the wheels, and prints how to install each of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "dist" / "wheels")
    full, small = build_wheels(parser.parse_args().to)
    print(f"for graders:  pip install --constraint constraints.txt '{full}[instructor]'")
    print(f"for students: pip install '{small}'")


if __name__ == "__main__":
    main()
