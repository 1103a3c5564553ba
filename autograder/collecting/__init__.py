"""Arranges downloads from platforms such as Moodle and GitHub Classroom in nbgrader's layout."""

from .clones import read_logins
from .collection import CollectOptions, CollectReport, collect
from .issues import FoundRequest, read_asked
from .owners import UNCLEAR
from .placing import CollectedSubmission, Ends, Outcome, earlier_place, is_collected
from .platform_times import Times, read_times
from .platforms import CANVAS, MOODLE, TEXT_ENTRY, Owner
from .transaction import UndoReport, collecting_alone, undo
