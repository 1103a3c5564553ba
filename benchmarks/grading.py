"""Times grading for classes in which no two answers are equal, and compares it with other tools.

    .venv/bin/python benchmarks/grading.py [--students 100] [--repeats 5] [--quick] [--to FILE]

For each way of grading, prints the median CPU seconds of the whole process tree for one more
submission, the peak memory of all processes (proportional set size: shared pages count once), and
the tests that are run. With `--to`, the table is also written to a file. To find the cost of one
more submission, the mean cost of grading one half of the class is subtracted from the cost of
grading the whole class, and the difference is divided by the size of a half. A class of only a few
submissions is not used for this, because starting the grader costs less for such a class.

The grader grades each class as a folder, and path by path with `grade -`. The grader is compared
with a lower limit: the time for only the suite's calls, in one process, encoded and decoded as for
a worker. It is also compared with pytest, in one process per submission and without isolation; with
nbgrader, which starts a kernel for each notebook; and with otter-grader. Slow graders grade only
the first few submissions in the class with wrong answers. `--quick` leaves out notebooks, and
measures only once.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path

import torch

from autograder.course import load_course
from autograder.grading.judging.plan import rehearse
from autograder.grading.judging.suites import collect_suites
from autograder.grading.naming.probe import replies_of
from autograder.sandbox.clock import descendants
from autograder.sandbox.replies import value_of
from autograder.suite.local import load_module
from autograder.worker import compiler, wire
from benchmarks.different import AnswerKind, write_class
from benchmarks.peers import OTTER, NBGrader, Otter, cells, run
from benchmarks.processes import adopt_orphans, cpu_of_ended, memory

ROOT = Path(__file__).resolve().parent.parent
ASSIGNMENT = "simplified_attention"
#: how many submissions to give to slow graders
_FEW = 2
#: the smallest class for which the grader starts in the same way as for a large one
_LEAST = 10
_HALVES = ("one half", "other half")


@dataclass(frozen=True, slots=True)
class Row:
    """A way to grade, with the costs, and with the tests that are run for each submission.

    `start` is the cost of the grader's start, and `each` is the cost of one more submission, both
    in CPU seconds; `peak` is the peak memory in bytes.
    """

    label: str
    runs: str
    start: float
    each: float
    peak: float


def main() -> None:
    """Runs the benchmark, prints its table, and writes it to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="once, without notebooks")
    parser.add_argument("--to", type=Path, help="a file of Markdown to write the table to")
    options = parser.parse_args()
    if options.students < 2 * _LEAST or options.students % 2:
        parser.error(f"--students: give an even number of at least {2 * _LEAST}")
    repeats = 1 if options.quick else options.repeats
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="autograder-bench-") as name:
        folder = Path(name)
        course = load_course(ROOT)
        assignment = course.assignment(ASSIGNMENT)
        ways: list[Callable[[], Row]] = []
        for kind in (AnswerKind.ORDINARY, AnswerKind.UNUSUAL):
            place = folder / kind.name.lower()
            write_class(course, assignment, place / "many" / "submitted", options.students, kind)
            _halve(place)
            ways += [partial(_ours, place, kind, options.students, jobs) for jobs in (1, 2)]
            ways += [partial(_stream, place, kind, options.students), partial(_limit, place, kind)]
        # `place` is now the folder of the class with wrong answers, which a grader must find
        ways.append(partial(_pytest, place))
        if not options.quick:
            run([sys.executable, "-m", "autograder", "release", ASSIGNMENT], ROOT)
            ways += [partial(_nbgrader, place, at_once) for at_once in (1, 2)]
            ways.append(partial(_otter, place))
        _ours(place, kind, options.students, 2)  # run the known mistakes now
        # run them in turn, so that other load on the machine affects all of them
        rounds = [[way() for way in ways] for _ in range(repeats)]
    text = _table([_median(rows) for rows in zip(*rounds, strict=True)], options.students, repeats)
    print(text)
    if options.to:
        options.to.write_text(text, encoding="utf-8")


def _halve(place: Path) -> None:
    """Copies every second submission of the class to one new class, and the others to another."""
    students = sorted((place / "many" / "submitted").iterdir())
    for number, part in enumerate(_HALVES):
        for student in students[number::2]:
            shutil.copytree(student, place / part / "submitted" / student.name)


def _few(folder: Path) -> list[Path]:
    """Returns the first few submissions in the class, for slow graders."""
    return sorted((folder / "many" / "submitted").glob(f"*/{ASSIGNMENT}"))[:_FEW]


def _tests() -> str:
    """Describes the tests that our grader and plain pytest run."""
    suites = [
        exercise.hidden_suite for exercise in load_course(ROOT).assignment(ASSIGNMENT).exercises
    ]
    runner = collect_suites(ROOT, suites)
    count = sum(len(runner.tests(suite, name)) for suite in suites for name in runner.points(suite))
    return f"{count} hidden tests"


def _notebook_tests() -> str:
    """Describes the tests that the graders for notebooks run."""
    code, tests = cells(ROOT / "assignments" / ASSIGNMENT)
    return f"3 notebooks with {code - tests} code cells, the public checks of {tests} questions"


def _ours(folder: Path, kind: AnswerKind, students: int, jobs: int) -> Row:
    def grade(place: Path) -> None:
        (place / "results.jsonl").unlink(missing_ok=True)
        submitted = str(place / "submitted")
        options = ("--no-gradebook", "--jobs", str(jobs), "--course", str(ROOT))
        run([sys.executable, "-m", "autograder", "grade", submitted, *options], ROOT)

    label = f"autograder, {jobs} job{'s' * (jobs > 1)}, {kind.value}"
    return _whole_and_halves(label, grade, folder, students)


def _stream(folder: Path, kind: AnswerKind, students: int) -> Row:
    """Measures `grade -`, which gets the submissions' paths from its input."""
    options = ("--course", ROOT, "--assignment", ASSIGNMENT, "--secret", folder / "secret.key")

    def grade(place: Path) -> None:
        paths = sorted((place / "submitted").glob(f"*/{ASSIGNMENT}"))
        run(
            [sys.executable, "-m", "autograder", "grade", "-", *options],
            ROOT,
            lines=[*map(str, paths)],
        )

    return _whole_and_halves(f"autograder grade -, {kind.value}", grade, folder, students)


def _whole_and_halves(
    label: str, grade: Callable[[Path], None], folder: Path, students: int
) -> Row:
    """Grades a class and its halves, and computes the start-up cost and the cost per submission."""
    half = statistics.mean(measured(partial(grade, folder / part))[0] for part in _HALVES)
    whole, peak = measured(partial(grade, folder / "many"))
    return Row(label, _tests(), 2 * half - whole, (whole - half) / (students / 2), peak)


def _pytest(folder: Path) -> Row:
    """Runs the same tests with one pytest process for each submission."""
    suites = str(ROOT / "tests" / "hidden" / ASSIGNMENT)

    def grade() -> None:
        for submission in _few(folder):
            command = [sys.executable, "-m", "pytest", "--quiet", suites]
            run([*command, "--implementation", str(submission.parent)], ROOT, 1)

    seconds, peak = measured(grade)
    label = "pytest, a process for each submission, no isolation"
    return Row(label, _tests(), 0.0, seconds / len(_few(folder)), peak)


def _limit(folder: Path, kind: AnswerKind) -> Row:
    """Measures all calls in the suite, encoded and decoded, in one thread of this process."""
    each, calls = calls_alone(folder / "many" / "submitted", ASSIGNMENT)
    label = f"the calls alone, in one process, {kind.value}"
    return Row(label, f"{calls} calls, no test", 0.0, each, 0.0)


def calls_alone(submitted: Path, assignment: str) -> tuple[float, int]:
    """Returns the CPU seconds for a submission's calls in this process, and the number of calls."""
    torch.set_num_threads(1)
    compiler.defer()  # as in a worker
    compiler.never_compile()
    exercises = load_course(ROOT).assignment(assignment).exercises
    runner = collect_suites(ROOT, [exercise.hidden_suite for exercise in exercises])
    plans = [rehearse(runner, e.hidden_suite, 1).plan() for e in exercises]
    students = sorted(submitted.iterdir())
    start = time.process_time()
    for student in students:
        for exercise, plan in zip(exercises, plans, strict=True):
            path = student / assignment / f"{exercise.name}.py"
            names = vars(load_module(path, f"_{student.name}_{exercise.name}"))
            for header, data in replies_of(names, plan.batch):
                try:
                    value_of(wire.decode(header, bytearray(data)))
                except Exception:
                    continue  # an answer may raise anything
    each = (time.process_time() - start) / len(students)
    return each, sum(plan.batch.count for plan in plans)


def _nbgrader(folder: Path, at_once: int) -> Row:
    """Measures `nbgrader autograde` in `at_once` courses at the same time."""
    graders = NBGrader(folder / "nbgrader", ASSIGNMENT, _few(folder), at_once)
    seconds, peak = measured(graders.grade)
    for scores in graders.scores():
        _require_different_scores(scores)
    how = "unchanged" if at_once == 1 else f"{at_once} at once"
    label = f"nbgrader {version('nbgrader')} autograde, {how}"
    each = seconds / len(_few(folder)) / at_once
    return Row(label, _notebook_tests(), 0.0, each, peak)


def _otter(folder: Path) -> Row:
    """Measures how otter-grader runs each notebook, without otter-grader's usual container."""
    grader = Otter(folder / "otter", ASSIGNMENT, _few(folder))
    seconds, peak = measured(grader.grade)
    _require_different_scores(grader.scores())
    asked = [str(OTTER / "python"), "-c", "import otter; print(otter.__version__)"]
    label = f"otter-grader {subprocess.check_output(asked, text=True).strip()} run, no container"
    return Row(label, _notebook_tests(), 0.0, seconds / len(_few(folder)), peak)


def _require_different_scores(scores: Mapping[tuple[str, str], float]) -> None:
    """Checks that a grader rejects each wrong answer: a grader without tests would seem fast."""
    failed = Counter(student for (student, _), score in scores.items() if not score)
    if len(failed) != _FEW or set(failed.values()) != {1}:
        raise SystemExit(
            f"one answer of each submission is wrong, but the grader found these: {failed}"
        )


def _table(rows: list[Row], students: int, repeats: int) -> str:
    ours = rows[0].each
    lines = [
        "# The cost of grading, compared with other tools",
        "",
        "`make bench` writes this page. It measures the CPU time of all processes that a command "
        f"starts, for two classes of {students} submissions to `{ASSIGNMENT}` with three exercises "
        "each. No two answers return the same numbers. The figures are medians of "
        f"{repeats} runs. The cost of one more submission is computed from the difference between "
        "a class and the mean of its two halves, because the start costs the same for all of them. "
        "The first class contains correct answers in ordinary code. In the second class, all "
        "answers are written in unusual ways, such as loops over single numbers, and one exercise "
        "of each submission is wrong. Unusual answers take longer, and wrong answers are called "
        "again to name the mistake.",
        "",
        "For comparison, nbgrader and otter-grader (which grade notebooks) and pytest grade the "
        f"first {_FEW} submissions of the second class; the answer cells of the notebooks contain "
        "the modules. If nbgrader or otter-grader misses a wrong answer, the benchmark does not "
        "write a table, because a grader that does not run the tests would seem fast.",
        "",
        f"Measured on {date.today()} with Python {platform.python_version()}, PyTorch "
        f"{torch.__version__}, {os.cpu_count()} cores, Linux {platform.release()}.",
        "",
        "| | run for each submission | start, s | one more submission, ms | relative to the first "
        "row | peak, MiB |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.label} | {row.runs} | {row.start:.1f} | {row.each * 1000:.0f} | "
        + f"{row.each / ours:.1f} | "
        + (f"{row.peak / 2**20:.0f} |" if row.peak else "- |")
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _median(rows: Sequence[Row]) -> Row:
    middle = [statistics.median(getattr(r, n) for r in rows) for n in ("start", "each", "peak")]
    return Row(rows[0].label, rows[0].runs, *middle)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Returns the CPU seconds and the combined peak memory of the processes that `work` starts."""
    peak, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.5):
            peak = max(peak, sum(map(memory, descendants(os.getpid()))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = cpu_of_ended()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return cpu_of_ended() - before, peak


if __name__ == "__main__":
    main()
