"""One bundle with all assignments of a course: one wheel, one environment, one way in."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from string import Template

WHOLE_COURSE = "all_assignments"
_ONCE = "requirements.txt"


def whole_course(
    titles: Mapping[str, str], folders: Mapping[str, Mapping[str, bytes]]
) -> dict[str, bytes]:
    """The files of the whole course: a folder for each assignment, and what they share on top.

    `titles` by name; `folders` are the files of each single bundle.
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
    readme = text.substitute(table="\n".join(rows))
    return {**files, "README.md": readme.encode("utf-8")}
