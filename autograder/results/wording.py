"""Provides the wording of verdicts, test names and amounts that students read."""

from __future__ import annotations

from collections.abc import Mapping

from ..counts import number_of
from ..records import ExerciseResult, ExerciseStatus, Verdict
from .manual import HumanGrade

VERDICT_WORDS: dict[Verdict, str] = {
    Verdict.CORRECT: "Correct",
    Verdict.PARTIAL: "Partly right",
    Verdict.WRONG: "Not right yet",
    Verdict.NOT_IMPLEMENTED: "Not written yet",
    Verdict.MISSING: "Not found",
    Verdict.ERROR: "Stopped with an error",
    Verdict.TIMEOUT: "Took too long",
    Verdict.MEMORY: "Needed too much memory",
    Verdict.CRASHED: "Ended its process",
    Verdict.OUTPUT_LIMIT: "Printed too much",
    Verdict.FORBIDDEN: "Uses a call that is not allowed",
    Verdict.PROTOCOL: "Returned something that is not an answer",
}

NEXT_STEPS: dict[Verdict, str] = {
    Verdict.CORRECT: "",
    Verdict.PARTIAL: "Start with the first test below that did not pass.",
    Verdict.WRONG: "With pen and paper, work through the first test below that did not pass, "
    "shape by shape.",
    Verdict.NOT_IMPLEMENTED: "Replace the line that raises NotImplementedError with your answer.",
    Verdict.MISSING: "Keep the name of the function or class exactly as in the stub.",
    Verdict.ERROR: "Read the last line of the message first, and try the public checks.",
    Verdict.TIMEOUT: "Look for a loop that never ends, or a loop over every single number.",
    Verdict.MEMORY: "Look for a tensor that is much larger than the shapes in the docstring.",
    Verdict.CRASHED: "Remove calls that end Python, such as exit(), and endless recursion.",
    Verdict.OUTPUT_LIMIT: "Remove the print calls inside the function.",
    Verdict.FORBIDDEN: "Write this step yourself. The docstring says which calls are not allowed.",
    Verdict.PROTOCOL: "Return only what the docstring asks for, usually one tensor.",
}

_ADVICE: dict[ExerciseStatus, str] = {
    ExerciseStatus.GRADED: "",
    ExerciseStatus.MISSING: (
        "No file for this exercise could be graded. Keep the name of the file that you were given."
    ),
    ExerciseStatus.UNREADABLE: (
        "{file} could not be read as Python or as a notebook, so nothing in it was judged. "
        "Correct it, run it once from the top, and submit it as {name}.py or {name}.ipynb."
    ),
}


def exercise_advice(exercise: ExerciseResult) -> str:
    """Returns advice on what to submit if an exercise is missing or unreadable, or else ""."""
    return _ADVICE[exercise.status].format(
        name=exercise.exercise, file=exercise.file or "The file that was submitted"
    )


def why_not_judged(exercise: ExerciseResult) -> str:
    """Joins the notes and the advice on an exercise that was not judged; otherwise returns ""."""
    advice = exercise_advice(exercise)
    ended = [note if note.endswith((".", "?", "!")) else f"{note}." for note in exercise.notes]
    return " ".join([*ended, advice]) if advice else ""


def readable(name: str) -> str:
    """Turns a name in code into words: `causal_attention` -> "Causal attention"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def title_of(assignment: str, titles: Mapping[str, str]) -> str:
    """Returns an assignment's title in the course, or one made from the assignment's name."""
    return titles.get(assignment) or readable(assignment)


def readable_test(name: str) -> str:
    """Turns a test's name into words: `test_wide_rows[float64]` -> "Wide rows (float64)"."""
    function, bracket, case = name.rpartition("::")[2].partition("[")
    words = readable(function.removeprefix("test_"))
    return f"{words} ({case.removesuffix(']')})" if bracket else words


def amount(points: float) -> str:
    """Formats points as people write them: 2, 1.5, 0.33."""
    return f"{points:.2f}".rstrip("0").rstrip(".")


def points_text(points: float, most: float) -> str:
    """Formats points with their maximum: `1.5 of 2`."""
    return f"{amount(points)} of {amount(most)}"


def worth_text(points: float, most: float) -> str:
    """Formats points with their maximum and the noun: `1.5 of 2 points`."""
    return f"{amount(points)} of {number_of(amount(most), 'point')}"


def penalty_text(points: float) -> str:
    """Says how many points were deducted for lateness, or returns "" if none were."""
    off = number_of(amount(points), "point")
    return f"Deducted because this was submitted late: {off}." if points else ""


def grader_texts(grade: HumanGrade) -> tuple[str, ...]:
    """Says whether a grader set the points for a question, and what the grader wrote."""
    points = "A grader set the points for this question." if grade.changes_score else ""
    comment = f"A grader wrote: {grade.comment}" if grade.comment else ""
    return tuple(filter(None, (points, comment)))


def mistake_text(name: str | None) -> str:
    """Returns a known mistake's name as text, without the exercise, or "" if there is none."""
    return readable((name or "").rpartition(".")[2])


def shortened(text: str, limit: int) -> str:
    """Returns `text`, or its beginning and end if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n... {left_out} characters left out ...\n{text[-tail:]}"
