"""All code that depends on nbgrader: its gradebook, steps, and notebooks with its test cells."""

from .class_source import write_class_source
from .gradebook import (
    Note,
    RecordSummary,
    class_duedates,
    class_lateness,
    graded_elsewhere,
    human_work,
    record,
    set_extension,
)
from .settings import Settings, configure, load_settings, missing_lines, prepare_class_folder
from .steps import use_sandboxed_steps

__all__ = [
    "Note",
    "RecordSummary",
    "Settings",
    "class_duedates",
    "class_lateness",
    "configure",
    "graded_elsewhere",
    "human_work",
    "load_settings",
    "missing_lines",
    "prepare_class_folder",
    "record",
    "set_extension",
    "use_sandboxed_steps",
    "write_class_source",
]
