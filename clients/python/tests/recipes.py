"""Runs the recipes of docs/guides/outbox.md on a PostgreSQL database; test_recipes.py starts it."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict

import django
import psycopg
import psycopg2
import sqlalchemy
from django.conf import settings
from sqlalchemy.orm import Session

from punctual.outbox import enqueue, enqueue_async

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT.parent.parent / "docs" / "guides" / "outbox.md").read_text(encoding="utf-8")
JOB = {"url": "https://shop.example/remind", "schedule_in": [1, "hour"]}
ORDER = "INSERT INTO orders DEFAULT VALUES"
SCHEMA = "recipes_python"
URL, BINARY = sys.argv[1:]


class Undo(Exception):
    """Ends a transaction with a rollback."""


def recipe(library: str, **names: Any) -> Any:
    """Runs the guide's call for a library. A call with await returns its coroutine."""
    row = re.search(rf"^\| (?:\w+, )*{library}(?:, \w+)* \| (.*) \|$", GUIDE, re.M)
    assert row, f"the guide has no recipe for {library}"
    (code,) = re.findall("`([^`]*)`", row[1])[:1]
    code = re.sub(r": (enqueue\()", r": row = \1", code) if code.startswith("with") else f"row = {code}"
    scope: Dict[str, Any] = {"enqueue": enqueue, "enqueue_async": enqueue_async, "job": JOB, **names}
    waits = eval(compile(code, library, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), scope)
    if waits is None:
        return scope["row"]

    async def result() -> Any:
        await waits
        return scope["row"]

    return result()


def with_psycopg(commits: bool) -> str:
    with psycopg.connect(URL, options=f"-csearch_path={SCHEMA}") as connection:
        connection.execute(ORDER)
        row = recipe("psycopg", connection=connection)
        if not commits:
            raise Undo
    return row


def with_asyncio(commits: bool) -> str:
    async def shop() -> str:
        async with await psycopg.AsyncConnection.connect(URL, options=f"-csearch_path={SCHEMA}") as connection:
            await connection.execute(ORDER)
            row = await recipe("psycopg with asyncio", connection=connection)
            if not commits:
                raise Undo
        return row

    return asyncio.run(shop())


def with_sqlalchemy(commits: bool) -> str:
    engine = sqlalchemy.create_engine("postgresql+psycopg2://", creator=lambda: psycopg2.connect(URL, options=f"-csearch_path={SCHEMA}"))
    with Session(engine) as session, session.begin():
        session.execute(sqlalchemy.text(ORDER))
        row = recipe("SQLAlchemy", session=session)
        if not commits:
            raise Undo
    engine.dispose()
    return row


def with_django(commits: bool) -> str:
    from django.db import connection, transaction

    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(ORDER)
        row = recipe("Django", transaction=transaction, connection=connection)
        if not commits:
            raise Undo
    return row


def django_settings() -> None:
    fields = psycopg.conninfo.conninfo_to_dict(URL)
    database = {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {"options": f"-csearch_path={SCHEMA}"}}
    for name, field in (("NAME", "dbname"), ("USER", "user"), ("PASSWORD", "password"), ("HOST", "host"), ("PORT", "port")):
        database[name] = str(fields.get(field) or "")
    settings.configure(DATABASES={"default": database})
    django.setup()


django_settings()
RECIPES: Dict[str, Callable[[bool], str]] = {"psycopg": with_psycopg, "psycopg with asyncio": with_asyncio, "SQLAlchemy": with_sqlalchemy, "Django": with_django}
with psycopg.connect(URL, options=f"-csearch_path={SCHEMA}", autocommit=True) as admin:
    admin.execute(f"CREATE SCHEMA {SCHEMA}")
    admin.execute(subprocess.run([BINARY, "outbox", "schema"], stdout=subprocess.PIPE, check=True, text=True).stdout)
    admin.execute("CREATE TABLE orders (number bigint GENERATED ALWAYS AS IDENTITY)")
    for library, shop in RECIPES.items():
        admin.execute("TRUNCATE orders, punctual_outbox")
        row = shop(True)
        try:
            shop(False)
            raise AssertionError(f"{library}: the second transaction was committed")
        except Undo:
            pass
        found = admin.execute("SELECT id::text, job::text, (SELECT count(*) FROM orders) FROM punctual_outbox").fetchall()
        assert found == [(row, json.dumps(JOB, separators=(",", ":")), 1)], (library, found)
    admin.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
print(", ".join(RECIPES))
