"""Reads and writes information about a class, such as its people, due dates and extensions.

Each entry is a row in a CSV file in the class folder; people may also edit these files by hand.
"""

from .arrivals import (
    ALLOWED_FILE,
    Allowances,
    Lateness,
    keep_recorded,
    lateness,
    lateness_lines,
    marked_late,
    read_allowances,
    utc_text,
)
from .comments import BankComment, CommentBank, keep_comment, read_bank
from .dates import (
    ClassDates,
    CountingRule,
    count_late_days,
    read_dates,
    read_late_days,
    read_rules,
    unused_dates,
    with_class_dates,
    write_dates,
)
from .decisions import (
    EVERYTHING,
    Decision,
    grant_extension,
    read_extensions,
    read_withdrawals,
    withdraw,
)
from .links import Link, PushedGrade, read_links, read_pushed, write_links, write_pushed
from .looks import (
    ManualKey,
    ManualScores,
    ReviewMarks,
    read_review_marks,
    write_review_marks,
)
from .marks import Mark, keep_mark, read_graders, read_marks
from .matching import (
    Identity,
    Index,
    canvas_number,
    is_number,
    moodle_number,
    normal,
    number_in,
    only_item,
    squashed,
    without_group,
)
from .origins import Origin, forget_origins, late_mark, read_origins, write_origins
from .people import Person, Roster, read_roster
from .people_lists import (
    PeopleList,
    RosterChange,
    compare_people,
    listed_people,
    unused_columns_note,
    write_people,
    write_roster,
)
from .review_requests import (
    add_requests,
    answer_requests,
    is_request,
    read_requests,
    request_text,
    requests_by_key,
)
from .roles import Columns, Role, RoleValues
from .selection import Selection, anonymous, pseudonyms, select
from .tables import read_csv, read_own_csv, write_table
from .times import (
    TIMESTAMP_FILE,
    MissingZone,
    SubmissionTime,
    arrival,
    certain_time,
    read_stamp,
    read_time,
)
from .uploads import Upload, digest_of, forget_uploads, read_uploads, write_uploads
from .worksheets import in_english
