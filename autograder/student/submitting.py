"""Explains what to submit, and how, when all questions of an assignment pass."""

from __future__ import annotations

from .check_results import Progress

#: the part of grading that public checks don't cover
BEYOND = (
    "Grading also tries what these checks do not: other sizes, batches, other number types, "
    "gradients. The docstring of each question says everything that is required."
)


def what_to_submit(progress: Progress) -> tuple[str, ...]:
    """Return the lines for a finished assignment; empty if a question does not pass yet."""
    if progress.next is not None or not progress.exercises:
        return ()
    files = [item.file for item in progress.exercises if item.file]
    notebooks = [name for name in files if name.endswith(".ipynb")]
    lines = [f"All questions of {progress.title} pass their public checks. Well done!"]
    if notebooks:
        lines.append(
            "Before you submit: save each notebook, then Kernel > Restart Kernel and Run All Cells."
        )
    when = f" (due {progress.due})" if progress.due else ""
    lines.append(f"Submit these files{when}: {', '.join(files)}")
    lines.append(
        "How: upload them to the place where your course collects work; commit and push them in a "
        "GitHub or GitLab repository; in JupyterHub, the Submit button of the assignment list."
    )
    return (*lines, BEYOND)
