"""Uses the web services of learning platforms: reads people, dates and files, and writes grades.

This package knows nothing about class folders. The package takes and returns the records defined in
`platform_records`, which are the same for all platforms.
"""

from .connect import PLATFORMS, address_of, connect
from .http import PlatformFailure, RetryPolicy, Token
from .platform_records import (
    SAME_GRADE,
    Attempt,
    Grade,
    GradeUpdate,
    Member,
    Platform,
    PlatformAssignment,
    SubmittedFile,
    UpdateOutcome,
    squeezed,
)
