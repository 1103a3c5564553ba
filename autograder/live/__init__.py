"""Talks to the web services of learning platforms: reads people, dates and work; writes grades.

It does not use a class folder. It reads and writes the records of `platform_records`, which are the
same for each platform.
"""

from .connect import PLATFORMS, Address, address_of, connect
from .http import RetryPolicy, Stopped, Token, find_token
from .platform_records import (
    SAME_GRADE,
    Attempt,
    File,
    Grade,
    Member,
    Platform,
    Sent,
    Update,
    Work,
    has_arrived,
    squeezed,
)

__all__ = [
    "PLATFORMS",
    "SAME_GRADE",
    "Address",
    "Attempt",
    "File",
    "Grade",
    "Member",
    "RetryPolicy",
    "Platform",
    "Sent",
    "Stopped",
    "Token",
    "Update",
    "Work",
    "address_of",
    "connect",
    "find_token",
    "has_arrived",
    "squeezed",
]
