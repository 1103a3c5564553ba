"""Builds the wheel for students, with only the modules that their commands and notebooks import."""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping

from .bundle import DATE

#: the folders that are included completely, and single files
FOLDERS = (
    *("autograder/student/", "autograder/suite/", "autograder/parts/"),
    "autograder/attention/",
)
_FILES = frozenset(
    f"autograder/{name}.py" for name in ("__init__", "__main__", "cli/__init__", "cli/student")
)
#: the number of digits of the digest in a version
_DIGITS = 10


def student_wheel(name: str, wheel: bytes) -> tuple[str, bytes]:
    """Returns the name and content of a wheel without the modules that students don't import.

    Follows imports through all modules, even inside functions, except those only for type checkers.
    Leaves out optional requirements. Adds a digest of the content to the version, because pip does
    not replace a package with another of the same version, and the wheel in a student's next bundle
    may differ.
    """
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    modules = {_module(name): name for name in files if name.endswith(".py")}
    texts = {module: files[name].decode("utf-8") for module, name in modules.items()}
    first = [m for m, name in modules.items() if name in _FILES or name.startswith(FOLDERS)]
    needed = {modules[module] for module in _reached(first, texts)}
    kept = {
        name: _metadata(data) if name.endswith("/METADATA") else data
        for name, data in files.items()
        if name in needed or _is_about_the_wheel(name)
    }
    version = name.split("-")[1]
    own = f"{version}+d{_digest(kept)}"
    return name.replace(f"-{version}-", f"-{own}-"), wheel_bytes(_with_version(kept, version, own))


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:_DIGITS]


def _with_version(files: Mapping[str, bytes], old: str, new: str) -> dict[str, bytes]:
    """Changes the version in METADATA and in the name of the folder that contains it."""
    found: dict[str, bytes] = {}
    for name, data in files.items():
        folder, _, rest = name.partition("/")
        if folder.endswith(f"-{old}.dist-info"):
            folder = f"{folder.removesuffix(f'{old}.dist-info')}{new}.dist-info"
            if rest == "METADATA":
                lines = [f"\nVersion: {version}\n".encode() for version in (old, new)]
                data = data.replace(lines[0], lines[1], 1)
        found[f"{folder}/{rest}"] = data
    return found


def _module(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _reached(waiting: list[str], texts: Mapping[str, str]) -> set[str]:
    """Returns the `waiting` modules and everything that they import, directly or indirectly."""
    reached: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in reached or module not in texts:
            continue
        reached.add(module)
        waiting += _parents(module)
        waiting += _imported(module, texts)
    return reached


def _parents(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


def _imported(module: str, texts: Mapping[str, str]) -> Iterator[str]:
    is_package = any(other.startswith(f"{module}.") for other in texts)
    package = module if is_package else module.rpartition(".")[0]
    for node in _run(ast.parse(texts[module])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join(above) if node.level else ""
            source = ".".join(part for part in (start, node.module or "") if part)
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields all nodes below `tree`, except code that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _run(node)


def _is_about_the_wheel(name: str) -> bool:
    return ".dist-info/" in name and not name.endswith("/RECORD") or name.endswith("/py.typed")


def _metadata(data: bytes) -> bytes:
    """Returns METADATA without optional requirements and without the README for instructors."""
    lines = data.decode("utf-8").partition("\n\n")[0].splitlines()
    left_out = ("Provides-Extra:", "Description-Content-Type:")
    kept = [s for s in lines if not s.startswith(left_out) and "extra ==" not in s]
    return ("\n".join(kept) + "\n").encode("utf-8")


def wheel_bytes(files: Mapping[str, bytes]) -> bytes:
    """Returns a wheel with `files` and a record of them; the same files produce the same bytes."""
    folder = next(name.partition("/")[0] for name in files if ".dist-info/" in name)
    record = f"{folder}/RECORD"
    text = "".join(_lines(sorted(files.items()))) + f"{record},,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in [*sorted(files.items()), (record, text.encode())]:
            info = zipfile.ZipInfo(name, DATE)
            info.create_system, info.external_attr = 3, 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return buffer.getvalue()


def _lines(files: Iterable[tuple[str, bytes]]) -> Iterator[str]:
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        yield f"{name},sha256={digest},{len(data)}\n"
