"""Provides the released folder of the small course, as a student gets it."""

from __future__ import annotations

from ..authoring.conftest import course, edit, folder, make_wheel, root, solve, wheel

__all__ = ["course", "edit", "folder", "make_wheel", "root", "solve", "wheel"]
