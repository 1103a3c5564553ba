"""Every uploaded file is used or reported, and a wrong file never replaces a correct one."""

from __future__ import annotations

import io
import os
import signal
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from autograder.classroom.uploads import digest_of
from autograder.collecting import CollectOptions, CollectReport, collect
from autograder.errors import UserError
from autograder.operations.collect import collect as collect_in_course
from autograder.submission.intake import unused_files
from autograder.submission.opened import MAX_FILES

COURSE = {
    "simplified_attention": ("scores", "softmax"),
    "causal_attention": ("masking",),
}
ROOT = Path(__file__).resolve().parents[3]
Bring = Callable[..., CollectReport]


@pytest.fixture
def bring(tmp_path: Path) -> Bring:
    def run(files: Mapping[str, str], name: str = "all.zip", **options: str) -> CollectReport:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, text in files.items():
                archive.writestr(file, text)
        settings = CollectOptions(**options)  # type: ignore[arg-type]
        return collect([path], tmp_path / "course" / "submitted", COURSE, settings)

    return run


def tree(tmp_path: Path) -> dict[str, str]:
    submitted = tmp_path / "course" / "submitted"
    return {
        path.relative_to(submitted).as_posix(): path.read_text()
        for path in sorted(submitted.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "file",
    ["homework1.pdf", "final scores.ipynb", "scores.py.txt", "answers.rar", "notes", "a.docx"],
)
def test_any_unused_upload_is_a_reason_to_look(file: str, bring: Bring, tmp_path: Path) -> None:
    report = bring({f"ada_1_2_{file}": "x"}, assignment="simplified_attention")
    assert tree(tmp_path) == {f"ada/simplified_attention/{file}": "x"}
    assert [look for look in report.looks if file in look]


@pytest.mark.parametrize("is_clone", [False, True])
def test_a_copy_counts_only_without_the_original(
    is_clone: bool, bring: Bring, tmp_path: Path
) -> None:
    files = {
        **{"ada": {"scores-Copy1.ipynb": "1"}},
        **{"ben": {"scores.ipynb": "2", "scores-Copy1.ipynb": "1"}},
    }
    if is_clone:
        for who, own in files.items():
            for name, text in own.items():
                clone = tmp_path / "clones" / f"simplified_attention-{who}"
                (clone / ".git").mkdir(parents=True, exist_ok=True)
                (clone / name).write_text(text)
        exercises = {"simplified_attention": ("scores",)}
        report = collect([tmp_path / "clones"], tmp_path / "course" / "submitted", exercises)
    else:
        entries = [(f"{who}_1_{n}_{name}", text) for n, who in enumerate(files)
                   for name, text in files[who].items()]  # fmt: skip
        report = bring(dict(entries), assignment="simplified_attention")
    assert report.missing == ()
    found = {path.partition("/")[0]: text for path, text in tree(tmp_path).items()
             if path.endswith("/scores.ipynb")}  # fmt: skip
    assert found == {"ada": "1", "ben": "2"}


def test_unused_files_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 5):
        (tmp_path / f"{number}.txt").touch()
    assert len(unused_files(tmp_path, ("scores",))) == MAX_FILES


def test_a_pipe_next_to_an_answer_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "scores.py").write_text("x")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    (tmp_path / "pipe.py").symlink_to("nowhere")
    before = digest_of(tmp_path)
    (tmp_path / "pipe.py").unlink()
    os.mkfifo(tmp_path / "pipe.py")
    signal.setitimer(signal.ITIMER_REAL, 5)  # ends the test if reading the pipe blocks
    assert digest_of(tmp_path) == before
    signal.setitimer(signal.ITIMER_REAL, 0)


def test_a_student_whose_only_file_is_refused_is_missing(bring: Bring) -> None:
    name = f"{'x' * 300}.pdf"
    report = bring({f"ada_1_2_{name}": "x", f"bo_2_3_{name}": "x", "bo_2_4_scores.py": "1"})
    assert [(one.path[:3], one.student) for one in report.skipped] == [("ada", "ada"), ("bo_", "")]
    assert report.missing == ("ada",)


def test_a_misnamed_file_joins_its_owners_other_answers(bring: Bring, tmp_path: Path) -> None:
    report = bring({"ada_1_2_homework.pdf": "p", "ada_1_3_scores.py": "1", "bo_2_4_essay.pdf": "e"})
    assert tree(tmp_path) == {
        "ada/simplified_attention/homework.pdf": "p",
        "ada/simplified_attention/scores.py": "1",
    }
    assert report.missing == ("bo",)  # its assignment is unknown


def test_an_archive_of_another_assignment_is_refused_with_its_name(
    bring: Bring, tmp_path: Path
) -> None:
    bring({"ada_1_2_masking.py": "right", "bo_2_3_masking.py": "right"})
    before = tree(tmp_path)
    files = {"ada_1_4_scores.py": "1", "bo_2_5_scores.py": "2", "cy_3_6_notes.pdf": "3"}
    with pytest.raises(UserError, match="--assignment simplified_attention"):
        bring(files, assignment="causal_attention")
    with pytest.raises(UserError, match="Nothing was collected"):
        bring(files, name="causal_attention.zip")
    assert tree(tmp_path) == before


def test_several_assignments_in_one_archive_are_taken_apart(bring: Bring, tmp_path: Path) -> None:
    files = {
        **{"ada/scores.py": "1", "ada/masking.py": "2", "bo/scores.py": "3"},
        "bo/masking.py": "4",
    }
    for _ in range(2):
        report = bring(files, assignment="simplified_attention")
        assert tree(tmp_path) == {
            "ada/causal_attention/masking.py": "2",
            "ada/simplified_attention/scores.py": "1",
            "bo/causal_attention/masking.py": "4",
            "bo/simplified_attention/scores.py": "3",
        }
        assert any("files for causal_attention by 2 students" in note for note in report.notes)


def test_naming_the_assignment_later_leaves_flat_uploads_apart(
    bring: Bring, tmp_path: Path
) -> None:
    files = {
        f"ada_1_{n}_{name}.py": name for n, name in enumerate(("masking", "scores", "softmax"))
    }
    bring(files)
    before = tree(tmp_path)
    report = bring(files, assignment="causal_attention")
    assert len(before) == 3 and tree(tmp_path) == before
    assert [item.is_new for item in report.collected] == [False, False]


def test_a_stray_file_never_replaces_a_submission(bring: Bring, tmp_path: Path) -> None:
    bring({"ada_1_2_masking.py": "right"})
    files = {"ada_1_4_scores.py": "1", "ada_1_5_masking.py": "stray"}
    report = bring(files, assignment="simplified_attention")
    found = tree(tmp_path)
    assert found["ada/causal_attention/masking.py"] == "right"
    assert found["ada/simplified_attention/masking.py"] == "stray"
    assert any("masking.py" in look for look in report.looks)


def test_a_notebook_with_large_output_is_accepted(bring: Bring, tmp_path: Path) -> None:
    text = "the same line again\n" * 1_500_000
    report = bring({"ada_1_2_scores.ipynb": text})
    assert report.skipped == ()
    assert len(tree(tmp_path)["ada/simplified_attention/scores.ipynb"]) == len(text)


def repository(root: Path, login: str, files: Mapping[str, str | bytes]) -> None:
    folder = root / f"simplified-attention-{login}"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def packed(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.py", text)
    return buffer.getvalue()


def test_a_clone_whose_answers_have_other_names_is_looked_at(tmp_path: Path) -> None:
    root, target = tmp_path / "clones", tmp_path / "course" / "submitted"
    template = {"README.md": "x", "helper.py": "x"}
    repository(root, "ada", {**template, "scores.py": "1"})
    repository(root, "bo", {**template, "Scores (final).py": "2"})
    repository(root, "cy", {**template, "submission.zip": packed(scores="3")})
    repository(root, "di", {**template, "scores.py": "stub", "submission.zip": packed(scores="4")})
    repository(root, "ed", template)
    report = collect([root], target, COURSE, CollectOptions("simplified_attention"))
    found = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert found == {
        "ada/simplified_attention/scores.py",
        "bo/simplified_attention/Scores (final).py",
        "cy/simplified_attention/scores.py",
        "di/simplified_attention/scores.py",
        "di/simplified_attention/submission.zip",
    }
    assert {look.partition("/")[0] for look in report.looks} == {"bo", "di"}


def upload(root: Path, kind: str, files: Mapping[str, str]) -> Path:
    """Returns a download with one student's files."""
    if kind == "clone":
        repository(root, "ada", files)
        return root / "simplified-attention-ada"
    with zipfile.ZipFile(root / "all.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(f"Ada King_1_assignsubmission_file_/{name}", text)
    return root / "all.zip"


@pytest.mark.parametrize("kind", ["clone", "moodle"])
@pytest.mark.parametrize("ending", [".py", ".ipynb"])
def test_an_untouched_stub_never_replaces_a_changed_file(
    kind: str, ending: str, tmp_path: Path
) -> None:
    stub = (ROOT / "assignments" / "simplified_attention" / f"scores{ending}").read_text()
    answer = stub.replace("raise NotImplementedError", "return inputs @ query")
    for number, places in enumerate([("", "answers/"), ("answers/", ""), ("", "z - Copy/")]):
        root = tmp_path / str(number)
        root.mkdir()
        files = {f"{places[0]}scores{ending}": stub, f"{places[1]}scores{ending}": answer}
        source = upload(root, kind, files)
        report = collect_in_course(
            [source], into=root / "course", course=ROOT, assignment="simplified_attention"
        )
        (made,) = report.collected
        assert (made.folder / f"scores{ending}").read_text() == answer
        assert ["untouched stub" in one.reason for one in report.skipped] == [True]
        assert (report.looks, report.missing) == ((), ())


@pytest.mark.parametrize("kind", ["clone", "moodle"])
@pytest.mark.parametrize("other", ["old/scores.py", "scores-Copy1.py"])
def test_an_unused_answer_is_a_reason_to_look(kind: str, other: str, tmp_path: Path) -> None:
    source = upload(tmp_path, kind, {"scores.py": "used", other: "unused"})
    options = CollectOptions("simplified_attention")
    report = collect([source], tmp_path / "course" / "submitted", COURSE, options)
    assert (report.collected[0].folder / "scores.py").read_text() == "used"
    assert [other in look for look in report.looks] == [True]
    again = collect([source], tmp_path / "course" / "submitted", COURSE, options)
    assert (again.looks, again.notes) == ((), report.looks)  # nothing new, but not forgotten


def test_a_damaged_archive_alone_in_a_clone_is_looked_at(tmp_path: Path) -> None:
    repository(tmp_path / "clones", "ada", {"scores.py": "1"})
    repository(tmp_path / "clones", "bob", {"hw.zip": "x"})
    report = collect([tmp_path / "clones"], tmp_path / "course" / "submitted", COURSE)
    assert [made.student for made in report.collected] == ["ada", "bob"]
    assert ["bob" in look and "look at hw.zip" in look for look in report.looks] == [True]


def test_an_archive_that_is_not_a_zip_is_not_supported(tmp_path: Path) -> None:
    mail = tmp_path / "mail"
    (mail / "ada").mkdir(parents=True)
    (mail / "ada" / "scores.py").write_text("1")
    (mail / "bea.tar.gz").write_text("x")
    report = collect([mail], tmp_path / "course" / "submitted", COURSE)
    assert ["not supported" in one.reason for one in report.skipped] == [True]
    assert report.missing == ("bea.tar.gz",)
