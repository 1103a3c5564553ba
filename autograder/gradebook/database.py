"""Opens nbgrader's database; every way in which that fails becomes a message that helps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from alembic.config import Config
from alembic.script import ScriptDirectory
from nbgrader import dbutil
from nbgrader.api import Base
from sqlalchemy import Connection, Engine, Table, create_engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from ..errors import UserError


def table(name: str) -> Table:
    """A table of nbgrader's own model."""
    found: Table = Base.metadata.tables[name]
    return found


@contextmanager
def opened(db_url: str) -> Iterator[Engine]:
    """The database with nbgrader's tables, made where there are none."""
    with explained(db_url):
        engine = create_engine(db_url)
    try:
        with explained(db_url):
            _make_tables(engine)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """All or nothing: what fails inside leaves the database as it was."""
    with explained(str(engine.url)), engine.begin() as connection:
        yield connection


@contextmanager
def explained(db_url: str) -> Iterator[None]:
    """Raises a database's errors again as `UserError` with what to do."""
    try:
        yield
    except (SQLAlchemyError, ImportError) as error:
        raise UserError(_explanation(_shown(db_url), error)) from error


def _explanation(where: str, error: Exception) -> str:
    cause = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    remedy = "check the address of the database"
    if "locked" in cause:
        remedy = "another program writes to it (formgrader?): close that, then run this again"
    elif "not a database" in cause or "malformed" in cause:
        remedy = "move the file away and run this again: it is made anew from results.jsonl"
    elif "disk is full" in cause or "disk I/O" in cause:
        remedy = "make room on the disk, then run `autograder record` on the class folder"
    elif "unable to open" in cause or "readonly" in cause:
        remedy = "make sure that its folder is there and may be written to"
    elif "UNIQUE" in cause.upper():
        remedy = "another program wrote the same submission at the same time: run this again"
    return (
        f"the gradebook {where} can't be used: {cause}\n"
        f"  fix: {remedy}\n"
        "  results.jsonl is unharmed; what this run had not finished is as it was before"
    )


def _shown(db_url: str) -> str:
    try:
        return make_url(db_url).render_as_string(hide_password=True)
    except ArgumentError:
        return "address"  # it may hold a password: it is not repeated


def _make_tables(engine: Engine) -> None:
    is_new = not inspect(engine).get_table_names()
    with engine.begin() as connection:
        if is_new:
            Base.metadata.create_all(connection)
            connection.execute(
                text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
            )
            connection.execute(
                text("INSERT INTO alembic_version VALUES (:head)"), {"head": _newest_version()}
            )
            return
        _check_version(connection)


def _check_version(connection: Connection) -> None:
    tables = inspect(connection).get_table_names()
    version = None
    if "alembic_version" in tables:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version != _newest_version():
        raise UserError(
            f"the gradebook {_shown(str(connection.engine.url))} was made by another version of "
            f"nbgrader (its version: {version}, expected: {_newest_version()})\n"
            "  fix: run `nbgrader db upgrade` in the class folder"
        )


@cache
def _newest_version() -> str | None:
    """The version that nbgrader's own migrations end with; nbgrader asks a subprocess for it."""
    config = Config()
    config.set_main_option("script_location", dbutil.ALEMBIC_DIR)
    return ScriptDirectory.from_config(config).get_current_head()
