"""One bundle with all assignments of a course: one wheel, one environment, one way in."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from string import Template

from .course_map import CourseMap, map_table
from .map_picture import map_picture

WHOLE_COURSE = "all_assignments"
_ONCE = "requirements.txt"


def whole_course(
    titles: Mapping[str, str], folders: Mapping[str, Mapping[str, bytes]], way: CourseMap
) -> dict[str, bytes]:
    """The files of the whole course: a folder for each assignment, and what they share on top.

    `titles` by name; `folders` are the files of each single bundle. The README lists the
    assignments in the order of the map, if there is one.
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
