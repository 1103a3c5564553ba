"""Writes the table that `csv` writes, with a byte order mark so that Excel recognizes UTF-8."""

from __future__ import annotations

from pathlib import Path

from ..class_grades import Grades
from ..export_tables import Exported, write_csv
from .csv import table_of

DEFAULT = "grades.excel.csv"


def write(grades: Grades, path: Path) -> Exported:

    return Exported(write_csv(table_of(grades), path, has_mark=True))
