"""On a student's computer, `check` refuses the same operations as the sandbox during grading."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

from autograder.student import as_text, check_folder

from .conftest import ClassFolder

ROOT = Path(__file__).parents[3]
#: operations that an answer tries; it then reports those that failed
DEEDS = (
    *("open('notes.txt')", "open('new.txt', 'w')", "os.mkdir('new')", "os.listdir('.')"),
    *("os.remove('notes.txt')", "os.utime('notes.txt')", "os.truncate('notes.txt', 0)"),
    *("os.stat('notes.txt')", "os.lstat('notes.txt')", "os.stat('.')", "os.stat(os.__file__)"),
    *("os.path.exists('notes.txt') or 1 / 0", "os.access('notes.txt', os.R_OK) or 1 / 0"),
    *("os.path.isdir('.') or 1 / 0", "os.path.isfile(torch.__file__) or 1 / 0", "os.getcwd()"),
    *("os.nice(1)", "os.setpriority(os.PRIO_PROCESS, 0, 5)", "os.umask(0)", "os.setpgid(0, 0)"),
    *("os.getpriority(os.PRIO_PROCESS, 0)", "os.getppid()", "os.getuid()", "os.uname()"),
    *("os.sched_setaffinity(0, {0})", "os.sched_getaffinity(0)", "os.times()", "os.dup(1)"),
    *("os.memfd_create('x')", "os.eventfd(0)", "os.mkfifo('f')", "os.statvfs('/')"),
    *("os.listxattr('/dev/null')", "os.waitpid(-1, 0)", "os.fork()", "os.system('true')"),
    *("fcntl.flock(1, fcntl.LOCK_EX)", "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"),
    *("resource.getrlimit(resource.RLIMIT_CORE)", "socket.socket()", "mmap.mmap(-1, 100)"),
    *("sqlite3.connect('runs.db').execute('select 1')", "sqlite3.connect(':memory:')"),
    *("sqlite3.connect('runs.db').execute('create table runs (loss)')", "time.sleep(0)"),
    *("torch.ones(2).share_memory_()", "torch.save(torch.ones(2), 'weights.pt')"),
    *("torch.from_file('notes.txt', size=1)", "torch.load('weights.pt')", "uuid.uuid4()"),
)
ANSWER = f"""
import fcntl, mmap, os, resource, socket, sqlite3, time, uuid

import torch

DEEDS = {DEEDS!r}


def failed():
    numbers = []
    for number, deed in enumerate(DEEDS):
        try:
            exec(deed)
        except Exception:
            numbers.append(number)
    return numbers


FAILED = failed()


def query_scores(inputs, query):
    raise ValueError(f"here {{FAILED == failed()}} {{failed()}}")


def attention_scores(queries, keys):
    return queries @ keys.mT
"""


def refused(text: str) -> set[str]:
    """Returns the operations that failed, according to the answer's output."""
    found = re.search(r"here True (\[[\d, ]*\])", text)
    assert found, text
    return {DEEDS[number] for number in ast.literal_eval(found[1])}


def test_check_refuses_what_grading_refuses(a_class: ClassFolder, tmp_path: Path) -> None:
    result = a_class.grade_one(scores=ANSWER)
    (question,) = (
        question
        for exercise in result.exercises
        for question in exercise.questions
        if question.question == "query_scores"
    )
    folder = tmp_path / "simplified_attention"
    shutil.copytree(ROOT / "assignments/simplified_attention", folder)
    (folder / "scores.py").write_text(ANSWER, encoding="utf-8")
    (folder / "notes.txt").write_text("shapes", encoding="utf-8")
    (checked,) = check_folder(folder, ["query_scores"])
    in_grading = refused("".join(str(test.message) for test in question.tests))
    assert refused("".join(map(as_text, checked.questions))) == in_grading
    assert {"os.nice(1)", "os.stat('notes.txt')"} < in_grading < set(DEEDS) - {"os.stat('.')"}
