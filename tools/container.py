"""Builds the image of the Dockerfile without a registry of images, and grades a class in it.

    .venv/bin/python -m tools.container [--volume HOST:INSIDE ...] [--keep FOLDER]

Needs root, `debootstrap`, `buildah`, `podman` and `runc`. The base image is made from Debian's
packages and gets the name that the Dockerfile begins with, so the Dockerfile is built as it is;
`--volume` mounts what pip needs while it is built, such as a pip.conf or a folder of wheels.

Then a part of the example class is graded as an ordinary user: without network, capabilities or
new privileges, with limits of memory and processes, the course mounted read-only. The scores must
be those of `examples/expected.json`, in isolation tier C, and a second run with `--resume` must
have nothing to do.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autograder.operations.expected import differences, scores
from autograder.results.file import read_results

ROOT = Path(__file__).resolve().parent.parent
IMAGE = "localhost/attention-autograder:built"
#: made-up students who show right, wrong, hanging and missing work
STUDENTS = ("ada", "chiara", "ivo")
ASSIGNMENTS = ("simplified_attention", "causal_attention")
_USER = 1000
_NEEDED = ("debootstrap", "buildah", "podman", "runc")
_PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
#: Docker's image of Python has these names, and lets pip install into the system
_LIKE_THE_BASE = (
    "ln -sf python3 /usr/bin/python && rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && "
    "pip --version >/dev/null"
)


def main() -> int:
    """Builds, grades, compares; 0 if all is as expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--volume", action="append", default=[], metavar="HOST:INSIDE")
    parser.add_argument("--keep", type=Path, help="keep the images in this folder")
    options = parser.parse_args()
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing or os.geteuid():
        print(f"needs root, and these programs: {' '.join(missing or _NEEDED)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="container-") as place:
        folder = options.keep or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        engine = ContainerTools(folder)
        engine.make_base(_base_name())
        engine.build(options.volume)
        return _grade(engine, Path(place))


class ContainerTools:
    """Buildah and podman with a separate store; chroot and vfs work everywhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = ["--root", str(folder / "store"), "--runroot", str(folder / "run")]
        self._store += ["--storage-driver", "vfs"]

    def make_base(self, name: str) -> None:
        """Makes the base image from Debian's packages, unless it exists."""
        if self._call("buildah", "images", "--quiet", name, check=False).strip():
            return
        tree = self._folder / "base"
        if not tree.is_dir():
            part = self._folder / "base.part"
            include = f"--include={_PACKAGES}"
            _run("debootstrap", "--variant=minbase", include, "bookworm", str(part))
            part.rename(tree)
        container = self._call("buildah", "from", "scratch").strip()
        self._call("buildah", "add", "--quiet", container, str(tree), "/")
        shell = ("--isolation", "chroot", container, "--", "sh", "-c", _LIKE_THE_BASE)
        self._call("buildah", "run", *shell)
        self._call("buildah", "commit", "--quiet", container, name)
        self._call("buildah", "rm", container)

    def build(self, volumes: Sequence[str]) -> None:
        """Builds the Dockerfile as it is."""
        mounts = [part for volume in volumes for part in ("--volume", volume)]
        arguments = ("--isolation", "chroot", "--pull-never", "--layers=false", *mounts)
        context = ("--tag", IMAGE, "--build-arg", f"UID={_USER}", str(ROOT))
        self._call("buildah", "bud", *arguments, *context)

    def run(self, *arguments: str, volumes: Sequence[str]) -> str:
        """Runs a command of the grader in the image, as docs/security.md says."""
        mounts = [part for volume in volumes for part in ("--volume", volume)]
        limits = ("--memory", "8g", "--pids-limit", "512", "--network", "none")
        rights = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")
        own = ("--runtime", "runc", "--cgroup-manager", "cgroupfs")
        # a machine may not allow more than it has itself
        ulimits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")
        before = ("run", "--rm", *ulimits, *limits, *rights, *mounts)
        return self._call("podman", *own, *before, IMAGE, *arguments)

    def _call(self, program: str, *arguments: str, check: bool = True) -> str:
        return _run(program, *self._store, *arguments, check=check)


def _base_name() -> str:
    """The image that the Dockerfile begins with, by its full name."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    name = next(line.split()[1] for line in lines if line.startswith("FROM "))
    return f"docker.io/library/{name}"


def _grade(engine: ContainerTools, place: Path) -> int:
    folder = place / "class"
    for student in STUDENTS:
        for assignment in ASSIGNMENTS:
            source = ROOT / "examples/submitted" / student / assignment
            if source.is_dir():
                shutil.copytree(source, folder / "submitted" / student / assignment)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, _USER, _USER)
    place.chmod(0o755)
    volumes = [f"{ROOT}:/course:ro", f"{folder}:/class"]
    command = ("grade", "/class/submitted", "--course", "/course", "--jobs", "2", "--no-gradebook")
    print(engine.run("doctor", volumes=volumes))
    print(engine.run(*command, volumes=volumes))
    results = read_results(folder / "results.jsonl")
    again = json.loads(engine.run(*command, "--resume", "--json", volumes=volumes))
    expected = json.loads((ROOT / "examples/expected.json").read_text(encoding="utf-8"))
    wanted = {
        student: {
            name: expected[student][name] for name in ASSIGNMENTS if name in expected[student]
        }
        for student in STUDENTS
    }
    problems = list(differences(wanted, scores(results)))
    problems += [
        f"{r.student}/{r.assignment}: tier {r.isolation}" for r in results if r.isolation != "C"
    ]
    if again["graded"]:
        problems.append(f"--resume graded {again['graded']} submissions again")
    print(*problems, sep="\n")
    print(f"{len(results)} submissions graded in the image; {len(problems)} problems")
    return 1 if problems or not results else 0


def _run(program: str, *arguments: str, check: bool = True) -> str:
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True)
    if check and done.returncode:
        raise SystemExit(f"{program} {' '.join(arguments)} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
