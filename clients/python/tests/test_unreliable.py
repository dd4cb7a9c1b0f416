"""Each job arrives once, whatever becomes of requests and answers on their way."""

from __future__ import annotations

import asyncio
import json
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List

from punctual import AsyncClient, Client

from .support import client, variable

FAULTS = ["lose", "cut", "delay", "late", "late,lose,cut,delay"]


def hits(name: str) -> Dict[str, int]:
    with urllib.request.urlopen(f"{variable('UNRELIABLE')}/hits/{name}") as response:
        return json.loads(response.read())


def job(name: str, faults: str, n: int, own: bool) -> Any:
    request: Dict[str, Any] = {"url": f"{variable('COUNTED')}/{name}/{faults}/{n}{own}", "tags": [name]}
    if own:
        request["idempotency_key"] = f"{name}-{faults}-{n}"
    return request


class TestUnreliable(unittest.TestCase):
    def verify(self, name: str, want: int) -> None:
        with client() as watcher:
            jobs = [watcher.jobs.wait(record["id"], within=60) for record in watcher.jobs.list(tag=name)]
        arrived = hits(name)
        self.assertEqual({path: n for path, n in arrived.items() if n != 1}, {})
        self.assertEqual((len(arrived), len(jobs)), (want, want))

    def test_jobs_arrive_once(self) -> None:
        made: List[Any] = []
        with ThreadPoolExecutor(2 * 2 * len(FAULTS) + 2) as threads, client() as watcher:
            watcher.groups.put("unreliable", {"targets": [{"name": n, "url": f"{variable('COUNTED')}/py-group/{n}"} for n in ("a", "b")]})
            for faults in FAULTS:
                punctual = client_for(faults)
                self.addCleanup(punctual.close)
                for own in (False, True):
                    made.append(threads.submit(punctual.jobs.create, job("py", faults, 0, own)))
                    made.append(threads.submit(punctual.jobs.create_many, [job("py", faults, n, own) for n in (1, 2)]))
            lossy = client_for("late,lose")
            self.addCleanup(lossy.close)
            for more in ({}, {"idempotency_key": "py-group"}):
                made.append(threads.submit(lossy.jobs.create_for_group, {"group": "unreliable", **more}))  # type: ignore[arg-type]
        for one in made:
            one.result()
        self.verify("py", 6 * len(FAULTS))
        self.assertEqual(hits("py-group"), {"a": 2, "b": 2})

    def test_jobs_of_the_asynchronous_client_arrive_once(self) -> None:
        async def create() -> None:
            async with AsyncClient(f"{variable('UNRELIABLE')}/late,lose,cut", variable("KEY"), max_retries=12) as punctual:
                await asyncio.gather(*(punctual.jobs.create(job("py-async", "", 0, own)) for own in (False, True)), *(punctual.jobs.create_many([job("py-async", "", n, own) for n in (1, 2)]) for own in (False, True)))

        asyncio.run(create())
        self.verify("py-async", 6)


def client_for(faults: str) -> Client:
    return Client(f"{variable('UNRELIABLE')}/{faults}", variable("KEY"), timeout=2, max_retries=12)
