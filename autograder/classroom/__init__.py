"""Facts about a class besides its results: its people, and decisions about submissions.

Each fact is a row of a CSV file in the class folder, which people may read and edit.
"""

from .arrivals import (
    Allowances,
    Lateness,
    lateness,
    lateness_lines,
    marked_late,
    read_allowances,
    utc_text,
)
from .dates import (
    ClassDates,
    Counts,
    Rules,
    count_late_days,
    read_dates,
    read_late_days,
    read_rules,
    with_class_dates,
)
from .decisions import (
    EVERYTHING,
    Decision,
    Withdrawals,
    grant_extension,
    read_extensions,
    read_withdrawals,
    withdraw,
)
from .looks import keep_looks, read_looks
from .matching import (
    Identity,
    Index,
    canvas_number,
    is_number,
    moodle_number,
    normal,
    number_in,
    only,
    squashed,
)
from .origins import Origin, forget_origins, late_mark, read_origins, write_origins
from .people import Person, Roster, RosterChange, read_roster, write_roster
from .roles import Columns, Role, Said
from .selection import Selection, anonymous, pseudonyms, select
from .tables import read_csv, write_table
from .times import TIMESTAMP_FILE, Arrival, NoZone, arrival, read_stamp, read_time
from .uploads import Upload, digest_of, forget_uploads, read_uploads, write_uploads
from .worksheets import in_english

__all__ = [
    "EVERYTHING",
    "TIMESTAMP_FILE",
    "Allowances",
    "Arrival",
    "ClassDates",
    "Columns",
    "Counts",
    "Decision",
    "Identity",
    "Index",
    "Lateness",
    "NoZone",
    "Origin",
    "Person",
    "Role",
    "Roster",
    "Rules",
    "RosterChange",
    "Said",
    "Selection",
    "Upload",
    "Withdrawals",
    "anonymous",
    "arrival",
    "canvas_number",
    "count_late_days",
    "digest_of",
    "forget_origins",
    "forget_uploads",
    "grant_extension",
    "in_english",
    "is_number",
    "keep_looks",
    "late_mark",
    "lateness",
    "lateness_lines",
    "marked_late",
    "moodle_number",
    "normal",
    "number_in",
    "only",
    "pseudonyms",
    "read_allowances",
    "read_csv",
    "read_dates",
    "read_extensions",
    "read_late_days",
    "read_looks",
    "read_origins",
    "read_roster",
    "read_rules",
    "read_stamp",
    "read_time",
    "read_uploads",
    "read_withdrawals",
    "select",
    "squashed",
    "utc_text",
    "with_class_dates",
    "withdraw",
    "write_origins",
    "write_roster",
    "write_table",
    "write_uploads",
]
