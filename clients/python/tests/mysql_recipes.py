"""Runs the recipes of docs/guides/outbox.md on a MariaDB server; test_recipes.py starts it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Callable, Dict

import pymysql
import sqlalchemy
from pymysql.constants import CLIENT
from sqlalchemy.orm import Session

from punctual.outbox import enqueue

JOB = {"url": "https://shop.example/remind?share=100%25", "schedule_in": [1, "hour"]}
TEXT = '{"url":"https://shop.example/remind?share=100%25","schedule_in":[1,"hour"]}'
SOCKET, BINARY = sys.argv[1:]


class Undo(Exception):
    """Ends a transaction with a rollback."""


def connect() -> Any:
    return pymysql.connect(unix_socket=SOCKET, user="root", database="punctual_test", client_flag=CLIENT.MULTI_STATEMENTS)


def with_pymysql(commits: bool) -> str:
    connection = connect()
    try:
        connection.begin()
        row = enqueue(connection, JOB)
        if not commits:
            raise Undo
        connection.commit()
    finally:
        connection.rollback()
        connection.close()
    return row


def with_sqlalchemy(commits: bool) -> str:
    engine = sqlalchemy.create_engine("mysql+pymysql://", creator=connect)
    try:
        with Session(engine) as session, session.begin():
            row = enqueue(session, JOB)
            if not commits:
                raise Undo
    finally:
        engine.dispose()
    return row


SHOPS: Dict[str, Callable[[bool], str]] = {"PyMySQL": with_pymysql, "SQLAlchemy": with_sqlalchemy}
admin = connect()
admin.autocommit(True)
with admin.cursor() as cursor:
    cursor.execute(subprocess.run([BINARY, "outbox", "schema", "--dialect", "mysql"], stdout=subprocess.PIPE, check=True, text=True).stdout)
    while cursor.nextset():
        pass
    for library, shop in SHOPS.items():
        cursor.execute("DELETE FROM punctual_outbox")
        row = shop(True)
        try:
            shop(False)
            raise AssertionError(f"{library}: the second transaction was committed")
        except Undo:
            pass
        cursor.execute("SELECT id, job FROM punctual_outbox")
        found = cursor.fetchall()
        assert found == ((row, TEXT),), (library, found)
    cursor.execute("DROP TABLE punctual_outbox, punctual_outbox_failed, punctual_outbox_relay")
admin.close()
print(", ".join(SHOPS))
