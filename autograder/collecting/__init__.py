"""Brings what a learning platform downloads into nbgrader's `submitted/<student>/<assignment>/`."""

from .collect import CollectReport, HandIn, collect
from .members import Refused

__all__ = ["CollectReport", "HandIn", "Refused", "collect"]
