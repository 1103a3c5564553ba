"""nbgrader's gradebook, filled from results, and the tables that are exported from them."""

from .exports import default_name, export, export_formats
from .exports.csv import export_csv
from .reading import human_work
from .recording import Note, RecordSummary, record
from .settings import Settings, configure, load_settings, missing_lines, prepare_class_folder
from .steps import put_behind_the_wall
from .tables import Exported

__all__ = [
    "Exported",
    "Note",
    "RecordSummary",
    "Settings",
    "configure",
    "default_name",
    "export",
    "export_csv",
    "export_formats",
    "human_work",
    "load_settings",
    "missing_lines",
    "prepare_class_folder",
    "put_behind_the_wall",
    "record",
]
