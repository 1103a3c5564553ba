"""Starts a new, empty PostgreSQL server for tests and measurements, on a Unix socket only.

    .venv/bin/python tools/postgresql.py [DATABASE...]

Creates the databases, prints their addresses as a JSON list on one line, and runs until its
standard input is closed; then removes the server's files. Exits with status 3 if PostgreSQL is not
installed.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOT_INSTALLED = 3
_DEBIAN = Path("/usr/lib/postgresql")


def main() -> None:
    """Runs a server until the standard input is closed."""
    programs = _programs()
    if programs is None:
        print("PostgreSQL is not installed (Debian: postgresql)", file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    # in the temporary folder, to which the server's user has access
    with tempfile.TemporaryDirectory(prefix="postgresql-") as folder, _server(programs, folder):
        for name in sys.argv[1:]:
            subprocess.run(
                [programs / "createdb", "--host", folder, "--username", "postgres", name],
                check=True,
            )
        address = "postgresql+psycopg://postgres@/{}?host={}"
        print(json.dumps([address.format(name, folder) for name in sys.argv[1:]]), flush=True)
        sys.stdin.read()


def _programs() -> Path | None:
    """Returns the folder with the newest server's programs, which are not on Debian's PATH."""
    folders = sorted(_DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    found = shutil.which("postgres")
    folders += [Path(found).resolve().parent] if found else []
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@contextmanager
def _server(programs: Path, folder: str) -> Iterator[None]:
    user = _user()
    if user is not None:
        shutil.chown(folder, user)
    data = str(Path(folder, "data"))
    _run(
        [programs / "initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust",
         "--encoding", "UTF8", "--locale", "C", "--no-sync"],
        user,
    )  # fmt: skip
    log = str(Path(folder, "log"))
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder}"
    control = [str(programs / "pg_ctl"), "--pgdata", str(data), "--wait"]
    _run([*control, "start", "--log", log, "--options", settings], user)
    try:
        yield
    finally:
        _run([*control, "stop", "--mode", "immediate"], user)


def _user() -> str | None:
    """Returns another user for the server if we are root, because it refuses to run as root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _run(command: list[Path | str], user: str | None) -> None:
    group = pwd.getpwnam(user).pw_gid if user else None
    extra: list[int] | None = [] if user else None
    done = subprocess.run(
        command, user=user, group=group, extra_groups=extra, cwd="/",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{Path(command[0]).name} failed:\n{done.stdout}")


if __name__ == "__main__":
    main()
