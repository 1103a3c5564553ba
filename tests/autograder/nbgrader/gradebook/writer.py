"""Records a class in a separate process, for tests of several writers at once.

    python writer.py COURSE CLASS_FOLDER DB_URL [reversed]

Prints "ready"; for each input line, records once and prints "done".
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograder.course import load_course
from autograder.nbgrader import record
from autograder.results.file import read_results


def main() -> None:
    """Records the class each time a line arrives."""
    course, class_folder, db_url, *order = sys.argv[1:]
    loaded, folder = load_course(Path(course)), Path(class_folder)
    print("ready", flush=True)
    for _ in sys.stdin:
        results = read_results(folder / "results.jsonl")
        record(loaded, folder, results[::-1] if order else results, db_url=db_url)
        print("done", flush=True)


if __name__ == "__main__":
    main()
