"""Exports results to files: tables, learning platforms, continuous integration."""

from .grades import Grades, Missing
from .tables import Exported
from .writing import default_name, export, export_formats

__all__ = ["Exported", "Grades", "Missing", "default_name", "export", "export_formats"]
