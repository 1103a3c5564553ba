"""Exports results to files: tables, learning platforms, continuous integration."""

from .class_grades import Grades, Missing
from .export_tables import Exported
from .writing import default_name, export, export_formats

__all__ = ["Exported", "Grades", "Missing", "default_name", "export", "export_formats"]
