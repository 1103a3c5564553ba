"""Results as files for others: tables, learning platforms, continuous integration."""

from .tables import Exported
from .writing import default_name, export, export_formats

__all__ = ["Exported", "default_name", "export", "export_formats"]
