"""Provides a released folder of the small course, as a student has it."""

from __future__ import annotations

from ..authoring.conftest import course, edit, folder, make_wheel, root, solve, wheel

__all__ = ["course", "edit", "folder", "make_wheel", "root", "solve", "wheel"]
