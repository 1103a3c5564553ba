"""Builds the Docker image without an image registry, and grades a class in it.

    .venv/bin/python -m tools.container [--volume HOST:INSIDE ...] [--keep FOLDER]

Needs root, `debootstrap`, `buildah`, `podman` and `runc`. The base image is built from Debian's
packages, under the name in the Dockerfile's `FROM` line, so that the Dockerfile can be used
unchanged. `--volume` mounts files that pip needs during the build, such as a pip.conf or a folder
with wheels.

Then part of the example class is graded as an ordinary user, without network, capabilities or new
privileges, with limits on memory and processes, and with the course mounted read-only. In isolation
tier C, the scores must equal those in `examples/expected.json`, and a second run with `--resume`
must find nothing to do. Then the attacks in the tests are graded in the same way: each attack must
get its expected verdict, and every honest student must get all points.

A program in the image reports which of the container's guards are off. No guard may be off in the
container that grades, and all guards must be off in a second container, which is started without
them. The attacks can't show that a guard is missing, because the sandbox in the container also
stops them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.operations.expected import differences, scores
from autograder.records import SubmissionResult, SubmissionStatus, Tier
from autograder.results.file import read_results
from tests.autograder.attacks.conftest import Attack, Sandboxed, attacks_in

ROOT = Path(__file__).resolve().parent.parent
IMAGE = "localhost/attention-autograder:built"
#: students in the example class whose work is right, wrong, hanging or missing
STUDENTS = ("ada", "chiara", "ivo")
ASSIGNMENTS = ("simplified_attention", "causal_attention")
_USER = 1000
#: a container's guards, with the options that switch each of them on and off
GUARDS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "no network": (("--network", "none"), ("--network", "host")),
    "no capabilities": (("--cap-drop", "ALL"), ()),
    "no new privileges": (("--security-opt", "no-new-privileges"), ()),
    "8 GB of memory": (("--memory", "8g"), ()),
    "512 processes": (("--pids-limit", "512"), ("--pids-limit", "-1")),
    "an ordinary user": ((), ("--user", "0")),
    "a read-only course": ((), ()),  # the volume is mounted read-only
}
#: code that prints which guards are off, and which files besides the package are in the image
_REPORT = """
import json, os
from pathlib import Path

def limit(new, old):
    for name in (new, old):
        try:
            text = Path("/sys/fs/cgroup", name).read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdigit() else 1 << 62
    return 1 << 62

lines = Path("/proc/self/status").read_text().splitlines()
status = dict(line.split(":\\t", 1) for line in lines if ":\\t" in line)
is_on = {
    "no network": [name for _, name in __import__("socket").if_nameindex()] == ["lo"],
    "no capabilities": all(int(status[name], 16) == 0 for name in ("CapBnd", "CapEff", "CapInh")),
    "no new privileges": status["NoNewPrivs"] == "1",
    "8 GB of memory": limit("memory.max", "memory/memory.limit_in_bytes") <= 8 << 30,
    "512 processes": limit("pids.max", "pids/pids.max") <= 512,
    "an ordinary user": os.getuid() != 0,
    "a read-only course": bool(os.statvfs("/course").f_flag & os.ST_RDONLY),
}
package = {"LICENSE", "README.md", "autograder", "constraints.txt", "pyproject.toml"}
off = [name for name, value in is_on.items() if not value]
print(json.dumps([off, sorted(set(os.listdir("/opt/autograder")) - package)]))
"""
_NEEDED = ("debootstrap", "buildah", "podman", "runc")


def main() -> int:
    """Builds the image, and grades submissions in it; returns 0 if all results are as expected."""
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
        Path(place).chmod(0o755)
        print(engine.run("doctor", volumes=[]), flush=True)
        problems = [
            *_unnoticed(engine),
            *_grade_class(engine, Path(place)),
            *_attack(engine, Path(place)),
        ]
    print(*problems, f"{len(problems)} problems", sep="\n")
    return 1 if problems else 0


class ContainerTools:
    """Runs buildah and podman with a separate image store, and settings that work everywhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = ["--root", str(folder / "store"), "--runroot", str(folder / "run")]
        self._store += ["--storage-driver", "vfs"]

    def make_base(self, name: str) -> None:
        """Builds the base image from Debian's packages, unless it exists."""
        if self._call("buildah", "images", "--quiet", "--filter", f"reference={name}").strip():
            return
        tree = self._folder / "base"
        if not tree.is_dir():
            part = self._folder / "base.part"
            _run("debootstrap", "--variant=minbase", "bookworm", str(part), printed=True)
            part.rename(tree)
        container = self._call("buildah", "from", "scratch").strip()
        self._call("buildah", "add", "--quiet", container, str(tree), "/")
        self._call("buildah", "commit", "--quiet", container, name)
        self._call("buildah", "rm", container)

    def build(self, volumes: Sequence[str]) -> None:
        """Builds the image from the Dockerfile."""
        mounts = [part for volume in volumes for part in ("--volume", volume)]
        arguments = ("--isolation", "chroot", "--pull-never", "--layers=false", *mounts)
        context = ("--tag", IMAGE, "--build-arg", f"UID={_USER}", str(ROOT))
        self._call("buildah", "bud", *arguments, *context, printed=True)

    def run(
        self, *arguments: str, volumes: Sequence[str], program: str = "", guarded: bool = True
    ) -> str:
        """Runs a command of the grader or another program in the image, as in docs/security.md.

        If `guarded` is false, all guards are switched off.
        """
        mounts = [part for volume in volumes for part in ("--volume", volume)]
        guards = [p for on, off in GUARDS.values() for p in (on if guarded else off)]
        other = ("--entrypoint", program) if program else ()
        own = ("--runtime", "runc", "--cgroup-manager", "cgroupfs")
        # a container can't be allowed more open files than the machine itself
        ulimits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")
        before = ("run", "--rm", *ulimits, *guards, *other, *mounts)
        return self._call("podman", *own, *before, IMAGE, *arguments)

    def _call(self, program: str, *arguments: str, printed: bool = False) -> str:
        return _run(program, *self._store, *arguments, printed=printed)


def _base_name() -> str:
    """Returns the full name of the image in the Dockerfile's `FROM` line."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    name = next(line.split()[1] for line in lines if line.startswith("FROM "))
    return f"docker.io/library/{name}"


def _unnoticed(engine: ContainerTools) -> Iterator[str]:
    """Starts one container with all guards, and one without; prints which guards are really off.

    Yields a problem if these are not the expected guards, or if the image contains files that don't
    belong there.
    """
    for guarded, expected in ((True, []), (False, list(GUARDS))):
        volumes = [f"{ROOT}:/course:ro" if guarded else f"{ROOT}:/course"]
        python = "/opt/python/bin/python"
        report = engine.run("-c", _REPORT, volumes=volumes, program=python, guarded=guarded)
        off, others = json.loads(report)
        print(f"guards that are off: {', '.join(off) or 'none'}", flush=True)
        if off != expected:
            yield f"guards that are off: {off}, expected {expected}"
        yield from (f"{name} is in the image" for name in others)


def _grade_class(engine: ContainerTools, place: Path) -> list[str]:
    """Grades part of the example class twice; returns the unexpected results."""
    folder = place / "class"
    for student in STUDENTS:
        for assignment in ASSIGNMENTS:
            source = ROOT / "examples/submitted" / student / assignment
            if source.is_dir():
                shutil.copytree(source, folder / "submitted" / student / assignment)
    _give(folder)
    volumes = [f"{ROOT}:/course:ro", f"{folder}:/class"]
    command = ("grade", "/class/submitted", "--course", "/course", "--jobs", "2", "--no-gradebook")
    print(engine.run(*command, volumes=volumes), flush=True)
    results = read_results(folder / "results.jsonl")
    again = json.loads(engine.run(*command, "--resume", "--json", volumes=volumes))
    expected = json.loads((ROOT / "examples/expected.json").read_text(encoding="utf-8"))
    wanted = {
        student: {
            name: expected[student][name] for name in ASSIGNMENTS if name in expected[student]
        }
        for student in STUDENTS
    }
    problems = [*differences(wanted, scores(results)), *_other_tiers(results)]
    if (again["graded"], again["already_graded"]) != (0, len(results)) or not results:
        problems.append(f"--resume: {again['graded']} graded, {again['already_graded']} before")
    print(f"{len(results)} submissions graded in the image, none again by --resume", flush=True)
    return problems


def _attack(engine: ContainerTools, place: Path) -> list[str]:
    """Grades the attacks in the tests together with honest students; returns unexpected results."""
    folder = place / "attacked"  # mounted at this path, which attacks contain
    folder.mkdir()
    hostile = Sandboxed(folder)
    attacks = attacks_in(Tier.C)
    for attack in attacks:
        hostile.attack(attack)
    honest = [f"{attack.name}~honest" for attack in attacks[::10]]
    for name in honest:
        hostile.submit(name)
    _give(folder)
    before = hostile.state()
    volumes = [f"{folder}:{folder}", f"{hostile.root}:{hostile.root}:ro"]
    command = ("grade", str(hostile.submitted), "--course", str(hostile.root), "--jobs", "2")
    engine.run(*command, "--no-gradebook", volumes=volumes)
    results = read_results(hostile.results)
    graded = {result.student: result for result in results}
    problems = [f"{name}: no result" for name in honest if name not in graded]
    problems += [f"{a.name}: {text}" for a in attacks for text in _reached(a, graded.get(a.name))]
    problems += [f"{r.student}: {r.score}" for r in results if r.student in honest and r.score < 11]
    problems += _other_tiers(results)
    if hostile.state() != before:
        problems.append("an attack changed a file of the course or the class")
    print(f"{len(attacks)} attacks and {len(honest)} honest students beside them", flush=True)
    return problems


def _reached(attack: Attack, result: SubmissionResult | None) -> Iterator[str]:
    if result is None or result.status is not SubmissionStatus.GRADED:
        yield "not graded"
        return
    for exercise in result.exercises:
        for question in exercise.questions:
            verdict = question.verdict.value
            if exercise.exercise == "attacked":
                allowed = attack.allows(question.question, verdict)
            else:
                allowed = verdict == "correct"
            if not allowed:
                yield f"{question.question} is {verdict}"


def _other_tiers(results: Sequence[SubmissionResult]) -> Iterator[str]:
    for result in results:
        if result.isolation is not Tier.C:
            yield f"{result.student}/{result.assignment}: tier {result.isolation}"


def _give(folder: Path) -> None:
    """Makes the image's user the owner of a folder and everything in it."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, _USER, _USER, follow_symlinks=False)


def _run(program: str, *arguments: str, printed: bool = False) -> str:
    """Runs a program; returns its output, or "" if `printed` is true."""
    output = None if printed else subprocess.PIPE
    done = subprocess.run([program, *arguments], stdout=output, text=True)
    if done.returncode:
        raise SystemExit(f"{program} {' '.join(arguments)} ended with {done.returncode}")
    return done.stdout or ""


if __name__ == "__main__":
    raise SystemExit(main())
