"""Opens nbgrader's database in SQLite or PostgreSQL; other programs may use it at the same time.

Grading runs, `record`, nbgrader's own commands and formgrader may write to one gradebook at the
same time. Each of this program's write transactions waits for the previous one, so the values that
it has read are still valid when it writes. A transaction that conflicts with one of nbgrader's is
repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from alembic.config import Config
from alembic.script import ScriptDirectory
from nbgrader import dbutil
from nbgrader.api import Base
from sqlalchemy import (
    Connection,
    Engine,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    OperationalError,
    SQLAlchemyError,
)

from ...errors import UserError, install_with
from ...escaping import for_shell
from ..sanitize import is_markup

T = TypeVar("T")
Row = dict[str, Any]

#: how many seconds SQLite waits for another writer, unless the address sets a timeout
_PATIENCE = 30
#: the number of the advisory lock in PostgreSQL, which only this program uses
_LOCK = 0x61747467
#: how many times to try a transaction that conflicts with nbgrader, which does not use this lock
_ATTEMPTS = 5


def table(name: str) -> Table:
    """Returns a table from nbgrader's own model."""
    found: Table = Base.metadata.tables[name]
    return found


@contextmanager
def opened(db_url: str) -> Iterator[Engine]:
    """Opens the database, and creates nbgrader's tables if there are none."""
    with explained(db_url):
        engine = _engine(db_url)
    try:
        with reading(engine) as connection:
            is_new = _is_new(connection)
        if is_new:
            writing(engine, _make_tables)
        else:
            with reading(engine) as connection:
                _check_version(connection)
                _check_names(connection)
        yield engine
    finally:
        engine.dispose()


def is_there(db_url: str) -> bool:
    """Returns whether a database exists at an address; always true for a server."""
    with explained(db_url):
        url = make_url(db_url)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").is_file()


def _engine(db_url: str) -> Engine:
    url = make_url(db_url)
    if url.get_backend_name() != "sqlite":
        return create_engine(url)
    # Python's driver would begin a transaction only at the first change, after reading old values
    arguments: dict[str, float | None] = {"isolation_level": None}
    if "timeout" not in url.query:
        arguments["timeout"] = _PATIENCE
    engine = create_engine(url, connect_args=arguments)
    event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Opens a read-only transaction, which does not wait for writers."""
    with explained(str(engine.url)), engine.begin() as connection:
        yield connection


def writing(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Runs `work` in one transaction, during which this program's other writers wait.

    `work` may be repeated from its beginning, so it must have no side effects.
    """
    with explained(str(engine.url)):
        for _ in range(_ATTEMPTS - 1):
            try:
                return _written(engine, work)
            except (IntegrityError, OperationalError) as error:
                if isinstance(error, OperationalError) and "deadlock" not in str(error.orig):
                    raise
        return _written(engine, work)


def _written(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        return work(connection)


def _is_new(connection: Connection) -> bool:
    return not inspect(connection).get_table_names()


def _make_tables(connection: Connection) -> None:
    if not _is_new(connection):  # another process has created them
        return
    Base.metadata.create_all(connection)
    connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
    connection.execute(
        text("INSERT INTO alembic_version VALUES (:head)"), {"head": _newest_version()}
    )


def _check_version(connection: Connection) -> None:
    tables = inspect(connection).get_table_names()
    version = None
    if "alembic_version" in tables:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version != _newest_version():
        shown = without_password(str(connection.engine.url))
        raise UserError(
            f"the gradebook {shown} was created by a different version of nbgrader (its version: "
            f"{version}, expected: {_newest_version()})\n  fix: run `nbgrader db upgrade` in the "
            "class folder"
        )


def _check_names(connection: Connection) -> None:
    """Rejects students' names that formgrader would execute; older versions recorded such names."""
    for name in connection.scalars(select(table("student").c.id)):
        if is_markup(name):
            raise UserError(
                f"the gradebook {without_password(str(connection.engine.url))} contains the "
                f"student {name!r}: formgrader would treat this name as markup and execute it\n"
                f"  fix: run `nbgrader db student remove --force {for_shell(name)}` in the class "
                "folder, and rename the student's folder. results.jsonl keeps the results, but "
                "first write down the manual grades, because they are removed too"
            )


@cache
def _newest_version() -> str | None:
    """Returns the version of nbgrader's last migration, without starting a subprocess."""
    config = Config()
    config.set_main_option("script_location", dbutil.ALEMBIC_DIR)
    return ScriptDirectory.from_config(config).get_current_head()


def insert_rows(connection: Connection, name: str, rows: list[Row]) -> None:
    """Adds rows, given as mappings from column to value, to one of nbgrader's tables."""
    if rows:
        connection.execute(insert(table(name)), rows)


def update_rows(
    connection: Connection, name: str, columns: tuple[str, ...], rows: list[Row]
) -> None:
    """Sets these columns in many rows, which are identified by their ids."""
    if rows:
        target = table(name)
        values: Row = {column: bindparam(f"new_{column}") for column in columns}
        changed = [{f"new_{key}": value for key, value in row.items()} for row in rows]
        connection.execute(
            update(target).where(target.c.id == bindparam("new_id")).values(values), changed
        )


_ANEW = "move the file away and run this again: it is rebuilt from results.jsonl"
_ROOM = "free some space on the disk, then run `autograder record` on the class folder"
_PLACE = "make sure that its folder exists and is writable"
_DRIVER = (
    f"run {install_with('postgresql')}; write the address as postgresql+psycopg://USER@HOST/NAME"
)

#: remedies, by words that the database's message contains in lower case; the first match counts
_REMEDIES = {
    "locked": "another program (formgrader?) is using it: close that program, then run this again",
    "not a database": _ANEW,
    "malformed": _ANEW,
    "disk is full": _ROOM,
    "no space left": _ROOM,
    "disk i/o": _ROOM,
    "unable to open": _PLACE,
    "readonly": _PLACE,
    "password": "correct the user and the password in the address; a password may also be in "
    "~/.pgpass",
    'role "': "correct the user in the address, or create the user: createuser NAME",
    'database "': "create it first: createdb NAME",
    "permission denied": "allow its user to create tables: GRANT CREATE ON SCHEMA public TO NAME",
    "unique": "another program wrote the same submission at the same time: run this again",
    "connection": "start the server, or correct the host and the port in the address",
}


@contextmanager
def explained(db_url: str) -> Iterator[None]:
    """Turns database errors into `UserError`s with a remedy."""
    try:
        yield
    except (SQLAlchemyError, ImportError) as error:
        raise UserError(_explanation(without_password(db_url), error)) from error


def without_password(db_url: str) -> str:
    """Returns an address without its password, for messages."""
    try:
        return make_url(db_url).render_as_string(hide_password=True)
    except ArgumentError:
        return "address"  # an invalid address may also contain a password


def _explanation(where: str, error: Exception) -> str:
    cause = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return (
        f"the gradebook {where} can't be used: {cause.strip()}\n"
        f"  fix: {_remedy(error, cause.lower())}\n"
        "  results.jsonl is not affected, and unfinished changes from this run were undone"
    )


def _remedy(error: Exception, cause: str) -> str:
    if isinstance(error, ImportError):
        return _DRIVER
    found = (remedy for pattern, remedy in _REMEDIES.items() if pattern in cause)
    return next(found, "check the address of the database")
