"""A receiver in a process of its own, which test_once kills at the worst moments."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from typing import Any, Dict

from punctual.receiver import JobDelivery, PostgresStore, Receiver, SQLiteStore

from . import postgres
from .support import crash, variable, wsgi_server

kind, file, port, die_at = sys.argv[1:]


def die(moment: str) -> None:
    if die_at == moment:
        os.kill(os.getpid(), signal.SIGKILL)


store: Any
if kind == "sqlite":
    store, sql = SQLiteStore(file), "INSERT INTO effects (name) VALUES (?)"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS effects (name TEXT)")
else:
    store, sql = PostgresStore(lambda: postgres.connect(variable("POSTGRES")), paramstyle=postgres.paramstyle), "INSERT INTO once_effects (name) VALUES ($1)"
    store.create_table()


def work(job: JobDelivery, tx: Any) -> Dict[str, Any]:
    tx.execute(sql, (job.body["effect"],))
    die("before the commit")
    return {"done": True}


route = Receiver(variable("SECRET"), store=store).job(work)
responses = 0


def application(environ: Dict[str, Any], start_response: Any) -> Any:
    global responses
    body = route.wsgi(environ, start_response)
    die("before the response")
    responses += 1
    if die_at == "crash the service" and responses == 1:
        crash()  # the effect is committed; the service loses the first response
    return body


server = wsgi_server(application, int(port))
print("listening", flush=True)
server.serve_forever()
