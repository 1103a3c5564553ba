"""nbgrader's gradebook, filled from results, and the tables that are exported from them."""

from .exports import export, export_formats
from .exports.csv import export_csv
from .reading import human_work
from .recording import Note, RecordSummary, record
from .settings import prepare_class_folder

__all__ = [
    "Note",
    "RecordSummary",
    "export",
    "export_csv",
    "export_formats",
    "human_work",
    "prepare_class_folder",
    "record",
]
