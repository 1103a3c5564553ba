"""Imports the modules that lie next to a notebook, which are in memory."""

from __future__ import annotations

import importlib.abc
import importlib.util
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from .data_files import Files


class DataFileFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the modules that lie next to a notebook."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `MetaPathFinder.find_spec`."""
        file = self._file(fullname)
        if file is None:
            return None
        is_package = file.endswith("__init__.py")
        spec = ModuleSpec(fullname, self, origin=file, is_package=is_package)
        spec.has_location = True
        return spec

    def get_source(self, fullname: str) -> str:
        """See `InspectLoader.get_source`."""
        file = self._file(fullname)
        if file is None:
            raise ImportError(f"no module named {fullname}", name=fullname)
        return importlib.util.decode_source(self._files.contents[file])

    def _file(self, fullname: str) -> str | None:
        stem = fullname.replace(".", "/")
        names = (f"{stem}/__init__.py", f"{stem}.py")
        return next((name for name in names if name in self._files.contents), None)
