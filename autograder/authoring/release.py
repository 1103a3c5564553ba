"""Releases a course's content to `assignments/` and to bundles, completely or not at all."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from ..course import Course
from ..course.manifest import WAYS, texts_text
from ..course.ways import ways_of
from ..errors import UserError
from ..records import Assignment
from ..sandbox.temporary import temporary_folder
from .assignment_folder import ReleasedAssignment, released_assignment
from .bundle import bundle_bytes
from .course_map import CourseMap, course_map, map_table
from .leaks import Leak, LeakFinder, refuse_leaks
from .map_picture import map_picture
from .package_wheel import contains_package, package_wheel
from .student_wheel import student_wheel

#: folders that appear when released notebooks are run; git ignores them, too
_LITTER = {"__pycache__", ".ipynb_checkpoints"}
_EXTRA = "no longer released"


@dataclass(frozen=True, slots=True)
class ReleasedFolder:
    """A released assignment: its folder, its bundle, and the files that changed."""

    name: str
    folder: Path
    bundle: Path
    changed: tuple[str, ...]
    points: float


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """The assignments that a release wrote, and those that it removed."""

    assignments: tuple[ReleasedFolder, ...]
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """A file in `assignments/` that a new release would change."""

    path: str
    problem: str


def release(
    course: Course,
    names: Sequence[str] = (),
    *,
    wheel: Path | None = None,
    after: bool = False,
) -> ReleaseReport:
    """Writes `assignments/<name>/` and `dist/<name>.zip` for the named assignments, or for all.

    A release of all assignments also writes one bundle with all of them, and removes the folders of
    assignments that are no longer in the course. Builds the wheel if none is given. Use `after`
    when everybody has submitted: the bundles, but not `assignments/`, then also contain the code of
    other correct answers. If the content is wrong or a file reveals a secret, raises `ContentError`
    before any existing file is changed.
    """
    chosen = _chosen(course, names)
    bundles = course.root / "dist"
    with _scratch(course.root) as scratch:
        made = [released_assignment(course, item, scratch / item.name) for item in chosen]
        wheel = wheel or _for_students(package_wheel(course.root, scratch / "wheel"))
        finder = LeakFinder(course)
        files = {item.name: _files(course, item, wheel) for item in made}
        refuse_leaks(
            (leak for name in files for leak in finder.in_files(name, files[name])),
            course.root / "assignments",
        )
        if after:
            files = {name: {**files[name], **_ways(course, name)} for name in files}
        gone = () if names else _gone(course)
        report = _report(course, made, bundles, gone)
        folders: dict[Path, Path | None] = {path: None for path in gone}
        for item in made:
            folders |= _new_folders(course, scratch, item)
        zips = {
            bundles / f"{item.name}.zip": bundle_bytes(item.name, files[item.name]) for item in made
        }
        if not names and len(made) > 1:
            titles = {item.name: item.title for item in made}
            together = whole_course(titles, files, course_map(course))
            zips[bundles / f"{WHOLE_COURSE}.zip"] = bundle_bytes(WHOLE_COURSE, together)
        replace_all(folders, zips, scratch)
    return report


def _for_students(wheel: Path) -> Path:
    name, content = student_wheel(wheel.name, wheel.read_bytes())
    path = wheel.with_name(name)
    path.write_bytes(content)
    return path


def verify_fresh(course: Course, names: Sequence[str] = ()) -> tuple[Difference, ...]:
    """Returns the files and folders in `assignments/` that a new release would change."""
    differences: list[Difference] = []
    with temporary_folder() as scratch:
        for item in _chosen(course, names):
            made = released_assignment(course, item, scratch / item.name)
            differences += _differences(course, made)
    if not names:
        differences += [Difference(f"{path.name}/", _EXTRA) for path in _gone(course)]
    return tuple(differences)


def find_leaks(
    course: Course, names: Sequence[str] = (), wheel: Path | None = None
) -> tuple[Leak, ...]:
    """Finds leaks in the files that are now in `assignments/`, and in the wheel of a new bundle.

    If no wheel is given and the course's folder contains the package, the wheel is built first.
    Otherwise, no wheel is searched, because an installed package can't contain the course's hidden
    tests.
    """
    finder = LeakFinder(course)
    leaks: list[Leak] = []
    with temporary_folder() as scratch:
        if wheel is None and contains_package(course.root):
            wheel = _for_students(package_wheel(course.root, scratch))
        if wheel is not None:
            leaks += finder.in_files("dist", {wheel.name: wheel.read_bytes()})
    for item in _chosen(course, names):
        leaks += finder.in_files(item.name, _present(_place(course, item.name)))
    return tuple(leaks)


def _chosen(course: Course, names: Sequence[str]) -> tuple[Assignment, ...]:
    return tuple(course.assignment(name) for name in names) or course.assignments


@contextmanager
def _scratch(root: Path) -> Iterator[Path]:
    """Creates a temporary folder in the course: files can be renamed only within a file system."""
    build = root / "build"
    try:
        build.mkdir(exist_ok=True)
        scratch = tempfile.TemporaryDirectory(prefix="release-", dir=build)
    except OSError as error:
        raise UserError(f"{build}: can't be written: {error.strerror or error}") from error
    with scratch as folder:
        yield Path(folder)


def _place(course: Course, name: str) -> Path:
    return course.root / "assignments" / name


def _encoded(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: text.encode("utf-8") for name, text in files.items()}


def _files(course: Course, made: ReleasedAssignment, wheel: Path) -> dict[str, bytes]:
    install = {"requirements.txt": requirements_text(course.root, wheel.name)}
    return {**_encoded({**made.files, **install}), wheel.name: wheel.read_bytes()}


def _ways(course: Course, name: str) -> dict[str, bytes]:
    """Returns the file with the code of other correct answers; {} if the assignment has none."""
    found = ways_of(course, course.assignment(name))
    ways = {question: [[way.text, way.code] for way in ways] for question, ways in found.items()}
    return {f"checks/{WAYS}": texts_text(ways).encode("utf-8")} if ways else {}


def _new_folders(course: Course, scratch: Path, made: ReleasedAssignment) -> dict[Path, Path]:
    notebooks = {f"{name}.ipynb": text for name, text in made.sources.items()}
    staged = scratch / "staged" / made.name
    return {
        _place(course, made.name): write_tree(staged / "release", _encoded(made.files)),
        course.root / "build" / "source" / made.name: write_tree(
            staged / "source", _encoded(notebooks)
        ),
    }


def _gone(course: Course) -> tuple[Path, ...]:
    """Returns folders in `assignments/` whose assignment is no longer in the course."""
    known = {assignment.name for assignment in course.assignments}
    folders = sorted((course.root / "assignments").glob("*/"))
    return tuple(folder for folder in folders if folder.is_dir() and folder.name not in known)


def _present(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _LITTER.isdisjoint(path.relative_to(folder).parts)
    }


def _differences(course: Course, made: ReleasedAssignment) -> list[Difference]:
    present, wanted = _present(_place(course, made.name)), _encoded(made.files)
    found: list[Difference] = []
    for name in sorted(present.keys() | wanted.keys()):
        path = f"{made.name}/{name}"
        if name not in present:
            found.append(Difference(path, "missing"))
        elif name not in wanted:
            found.append(Difference(path, _EXTRA))
        elif present[name] != wanted[name]:
            found.append(Difference(path, "differs"))
    return found


def _report(
    course: Course, made: Sequence[ReleasedAssignment], bundles: Path, gone: Sequence[Path]
) -> ReleaseReport:
    return ReleaseReport(
        tuple(
            ReleasedFolder(
                name=item.name,
                folder=_place(course, item.name),
                bundle=bundles / f"{item.name}.zip",
                changed=tuple(difference.path for difference in _differences(course, item)),
                points=sum(sum(worth.values()) for worth in item.points.values()),
            )
            for item in made
        ),
        tuple(path.name for path in gone),
    )


_PIN = re.compile(r"^torch==[\w.]+", re.MULTILINE)
_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
_SMALL_TORCH = f"""\
# PyTorch for the CPU only: about 200 MB to download, 800 MB on disk. The default build for Linux
# adds several GB for graphics cards, which the exercises do not need.
--extra-index-url {_CPU_INDEX}
"""


def requirements_text(root: Path, wheel: str) -> str:
    """Returns the text of requirements.txt: the course's version of PyTorch, and the wheel."""
    constraints = root / "constraints.txt"
    text = constraints.read_text(encoding="utf-8") if constraints.is_file() else ""
    pin = _PIN.search(text)
    small = f"{_SMALL_TORCH}{pin.group(0)}\n" if pin else ""
    return f"{small}./{wheel}\n"


WHOLE_COURSE = "all_assignments"
_ONCE = "requirements.txt"


def whole_course(
    titles: Mapping[str, str], folders: Mapping[str, Mapping[str, bytes]], way: CourseMap
) -> dict[str, bytes]:
    """Returns the files of the whole course: a folder for each assignment, and shared files.

    `titles` and `folders` contain the title and the bundle's files for each assignment. The README
    lists the assignments in the order of the map, if there is one.
    """
    files: dict[str, bytes] = {}
    rows: list[str] = []
    for name, title in titles.items():
        rows.append(f"| `{name}` | {title} |")
        for path, content in folders[name].items():
            if path.endswith(".whl") or path == _ONCE:
                files[path] = content
            elif not path.startswith("."):
                files[f"{name}/{path}"] = content
    template = resources.files(__package__).joinpath("templates", "COURSE.md")
    text = Template(template.read_text(encoding="utf-8"))
    table = "\n".join(["| folder | title |", "|---|---|", *rows])
    if way.stages:
        table = f"{way.before}\n\n{map_table(way)}\n\n![A transformer](map.svg)"
        order = tuple(stage.name for stage in way.stages)
        files["map.svg"] = map_picture(order).encode("utf-8")
    return {**files, "README.md": text.substitute(table=table).encode("utf-8")}


def write_tree(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Writes files below a new folder; returns the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def replace_all(
    folders: Mapping[Path, Path | None], bundles: Mapping[Path, bytes], attic: Path
) -> None:
    """Moves each new folder to its final path, and writes the bundles.

    If None is given instead of a new folder, only removes the old one. Old folders are moved to
    `attic`, which must be on the same file system. If an error occurs, all folders are restored.
    """
    staged = _stage_bundles(bundles)
    parked: list[tuple[Path, Path | None]] = []
    try:
        for number, (place, new) in enumerate(folders.items()):
            place.parent.mkdir(parents=True, exist_ok=True)
            old = attic / f"old-{number}" if place.exists() else None
            if old is not None:
                os.rename(place, old)
            parked.append((place, old))
            if new is not None:
                os.rename(new, place)
        for place, new_bundle in staged.items():
            os.replace(new_bundle, place)
    except BaseException:
        _put_back(parked)
        raise
    finally:
        for new_bundle in staged.values():
            new_bundle.unlink(missing_ok=True)


def _stage_bundles(bundles: Mapping[Path, bytes]) -> dict[Path, Path]:
    staged: dict[Path, Path] = {}
    for place, content in bundles.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        staged[place] = place.with_name(f".{place.name}.new")
        staged[place].write_bytes(content)
    return staged


def _put_back(parked: Sequence[tuple[Path, Path | None]]) -> None:
    for place, old in reversed(parked):
        if place.exists():
            shutil.rmtree(place)
        if old is not None:
            os.rename(old, place)
