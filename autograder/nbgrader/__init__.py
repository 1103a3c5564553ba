"""All code that depends on nbgrader: its gradebook, steps, and notebooks with its test cells."""

from .class_source import write_class_source
from .gradebook import (
    Note,
    RecordSummary,
    cells_to_grade,
    class_duedates,
    class_lateness,
    class_penalty,
    enter_grade,
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
    "cells_to_grade",
    "class_duedates",
    "class_lateness",
    "class_penalty",
    "configure",
    "enter_grade",
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
