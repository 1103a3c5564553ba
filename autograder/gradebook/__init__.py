"""nbgrader's gradebook, filled from results, and the tables that are exported from them."""

from .exports import default_name, export, export_formats
from .exports.csv import export_csv
from .reading import human_work
from .recording import Note, RecordSummary, record
from .settings import prepare_class_folder
from .tables import Exported

__all__ = [
    "Exported",
    "Note",
    "RecordSummary",
    "default_name",
    "export",
    "export_csv",
    "export_formats",
    "human_work",
    "prepare_class_folder",
    "record",
]
