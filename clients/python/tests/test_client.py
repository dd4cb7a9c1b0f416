"""Retries, limits and errors, against servers that misbehave."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import ssl
import threading
import time
import types
import unittest
import unittest.mock
from datetime import datetime, timedelta, timezone
from typing import Any, List

import punctual
from punctual import AsyncClient, Client, PunctualError, response_of
from punctual.completion import Completion
from punctual import _json
from punctual._jobs import Jobs
from punctual._logs import Logs
from punctual._schedules import Schedules
from punctual._transport import Transport, lost
from punctual.errors import parse_retry_after

from .support import API, ROOT, client, rejected, respond, serve, target, variable

JOB = {"id": "a", "job_id": 1, "job": {"state": "available", "has_confict": True}}
PROBLEM = {"type": "about:blank", "status": 422, "title": "x", "code": "invalid_request", "detail": "no", "errors": [{"detail": "one"}, {"detail": "two", "pointer": "#/url"}]}


class Clock:
    """Time that passes only while a call waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def Event(self) -> "Clock":
        return self

    def wait(self, seconds: float) -> None:
        self.now += seconds


class TestCompletions(unittest.TestCase):
    path = "/base/api/completions/t0k-en_"

    def test_are_reported_to_the_service(self) -> None:
        paths: List[str] = []

        def answer(handler: Any, _: bytes) -> None:
            paths.append(handler.path)
            respond(handler, 200, {"data": {"awaiting": True}})

        url = f"http://127.0.0.1:{serve(self, answer).port}"
        completion = Completion(url + self.path, url=url + "/base/")
        completion.progress(1)
        completion.close()
        self.assertEqual(paths, [self.path])

    def test_are_reported_nowhere_else(self) -> None:
        url = "https://punctual.example.com"
        for address in (
            "", "not a url", "http://[", self.path, "https://evil.example" + self.path, "http://punctual.example.com" + self.path, url + ":444" + self.path,
            url + ":x" + self.path, url + ".evil.example" + self.path, url + "@evil.example" + self.path, "https://user@punctual.example.com" + self.path,
            "http://169.254.169.254" + self.path, url + "/api/completions/t0k-en_", url + "/base/api/completions/", url + "/base/api/completions/../jobs",
            url + "/base/api/completions/%2e%2e%2fjobs", url + "/base/api/completions/a/b", url + self.path + "?a=b", url + self.path + "#a", url + "/x" + self.path,
            "ftp://punctual.example.com" + self.path,
        ):
            with self.assertRaises(ValueError, msg=address) as raised:
                Completion(address, url=url + "/base")
            self.assertNotIn("t0k-en_", str(raised.exception))
        with unittest.mock.patch.dict("os.environ", clear=True), self.assertRaisesRegex(ValueError, "PUNCTUAL_URL"):
            Completion("https://evil.example" + self.path)


class TestFilters(unittest.TestCase):
    """A filter that a method lacks could not be given; one of no list would be ignored."""

    def test_are_those_of_the_service(self) -> None:
        lists = {
            "/api/jobs": Jobs.list, "/api/jobs/counts": Jobs.counts, "/api/schedules": Schedules.list,
            "/api/logs": Logs.list, "/api/logs/export": Logs.export,
        }
        for path, method in lists.items():
            with self.subTest(path):
                documented = [API["components"]["parameters"][p["$ref"].split("/")[-1]]["name"] for p in API["paths"][path]["get"]["parameters"]]
                self.assertEqual(sorted(documented), sorted(set(inspect.signature(method).parameters) - {"self"}))
                if path == "/api/jobs/counts":
                    filters = documented
        # Each argument is sent under its own name.
        sent: List[Any] = []
        jobs = Jobs(types.SimpleNamespace(call=None))
        with unittest.mock.patch.object(jobs, "_call", lambda *_, **options: sent.append(options["query"])):
            jobs.counts(**{name: name for name in filters})
        with unittest.mock.patch.object(jobs, "_list", lambda _, **query: sent.append(query)):
            jobs.list(**{name: name for name in filters})
        for query in sent:
            self.assertEqual({name: name for name in filters}, {name: value for name, value in query.items() if name in filters})


class TestCalls(unittest.TestCase):
    def setUp(self) -> None:
        self.requests: List[Any] = []
        self.answers: List[Any] = []

        def answer(handler: Any, body: bytes) -> None:
            self.requests.append((handler.command, handler.path, {name.lower(): value for name, value in handler.headers.items()}, body))
            step = self.answers.pop(0) if self.answers else {"data": JOB}
            if step is None:
                handler.close_connection = True
                handler.connection.close()
            elif callable(step):
                step(handler)
            elif isinstance(step, tuple):
                respond(handler, step[0], step[1], **(step[2] if len(step) > 2 else {}))
            else:
                respond(handler, 200, step)

        self.server = serve(self, answer)
        self.client = Client(f"{self.server.url}/base/", "sk_test", max_retry_wait=5)
        self.addCleanup(self.client.close)

    def test_repeats_a_create_with_the_same_request_id(self) -> None:
        self.answers = [(503, None), None, (201, {"data": dict(JOB, job={"state": "available", "has_confict": True})})]
        job = self.client.jobs.create({"url": "https://example.com"})
        self.assertIs(job["job"]["has_confict"], False)
        ids = {json.loads(body)["request_id"] for _, _, _, body in self.requests}
        self.assertEqual((len(self.requests), len(ids)), (3, 1))
        self.assertEqual(self.requests[0][1], "/base/api/jobs")
        self.assertEqual(self.requests[0][2]["authorization"], "Bearer sk_test")

    def test_leaves_a_key_of_ones_own_alone(self) -> None:
        self.assertIs(self.client.jobs.create({"url": "https://example.com", "idempotency_key": "k"})["job"]["has_confict"], True)
        self.assertEqual(json.loads(self.requests[0][3])["idempotency_key"], "k")

    def test_repeats_a_batch_with_the_same_request_ids(self) -> None:
        conflict = dict(JOB, job={"state": "available", "has_confict": True})
        self.answers = [None, (201, {"data": [conflict, conflict]})]
        jobs = self.client.jobs.create_many([{"url": "x"}, {"url": "x", "request_id": "mine"}])
        self.assertEqual([job["job"]["has_confict"] for job in jobs], [False, True])
        first, second = (json.loads(body) for _, _, _, body in self.requests)
        self.assertEqual((first, first[1]["request_id"]), (second, "mine"))

    def test_outlasts_a_restart(self) -> None:
        send = Transport._try
        for options, down, outlasts in (({}, 25, True), ({}, 40, False), ({"refused_for": 60}, 40, True), ({"refused_for": 0}, 10, False), ({"max_retries": 0}, 1, False)):
            clock = Clock()

            def until_up(transport: Transport, request: Any) -> Any:
                if clock.now < down:
                    refused = ConnectionRefusedError()
                    raise lost(request, refused, sent=False) from refused
                return send(transport, request)

            patches = [unittest.mock.patch.object(Transport, "_try", until_up), unittest.mock.patch("punctual._transport.time", clock), unittest.mock.patch("punctual._transport.threading", clock)]
            with self.subTest(options=options, down=down), Client(self.server.url, "k", **options) as client, patches[0], patches[1], patches[2]:
                self.answers = [{"data": "pong"}]
                if outlasts:
                    client.ping()
                    self.assertGreaterEqual(clock.now, down)
                else:
                    self.assertEqual(rejected(self, client.ping).code, "network")

    def test_repeats_a_rerun_with_the_same_key(self) -> None:
        conflict = {"data": dict(JOB, job={"state": "available", "has_confict": True})}
        self.answers = [(503, None), None, (200, conflict), (200, conflict)]
        self.assertIs(self.client.jobs.rerun(1)["job"]["has_confict"], False)
        keys = {headers["idempotency-key"] for _, _, headers, _ in self.requests}
        self.assertEqual((len(self.requests), len(keys)), (3, 1))
        self.assertIs(self.client.jobs.rerun(1, idempotency_key="mine")["job"]["has_confict"], True)
        self.assertEqual(self.requests[3][2]["idempotency-key"], "mine")

    def test_sends_conditions(self) -> None:
        schedules, key = self.client.schedules, punctual.Key("k")
        job: Any = {"url": "https://example.com", "cron": "@daily"}
        schedules.put(key, job, if_match='"1"')
        schedules.put(key, job, if_new=True)
        self.client.limits.put("k", {"parallel": 1}, if_new=True)
        self.client.jobs.cancel(1, if_match='"2"')
        schedules.disable(key, if_match='"3"')
        conditions = [(headers.get("if-match"), headers.get("if-none-match")) for _, _, headers, _ in self.requests]
        self.assertEqual(conditions, [('"1"', None), (None, "*"), (None, "*"), ('"2"', None), ('"3"', None)])

    def test_does_not_repeat_what_may_have_been_done(self) -> None:
        for call in (lambda: self.client.jobs.run(1), lambda: self.client.jobs.edit(1, {}, if_match='"1"')):
            for answer in (None, (503, None)):
                self.requests.clear()
                self.answers = [answer]
                rejected(self, call)
                self.assertEqual(len(self.requests), 1)
        self.answers = [(429, None)]  # nothing was done
        self.requests.clear()
        self.client.jobs.run(1)
        self.assertEqual(len(self.requests), 2)

    def test_waits_as_long_as_the_service_says(self) -> None:
        self.answers = [(429, None, {"retry_after": "1"})]
        began = time.monotonic()
        self.client.jobs.get(1)
        self.assertGreaterEqual(time.monotonic() - began, 1)
        self.answers = [(429, None, {"retry_after": "6"})]
        error = rejected(self, lambda: self.client.jobs.get(1))
        self.assertEqual((error.status, error.code, error.retry_after), (429, "protocol", 6))

    def test_retries_a_bounded_number_of_times(self) -> None:
        self.answers = [(500, None)] * 10
        rejected(self, lambda: self.client.with_options(max_retries=2).jobs.get(1))
        self.assertEqual(len(self.requests), 3)

    def test_reports_problems(self) -> None:
        self.answers = [(422, PROBLEM, {"x_request_id": "r1"})]
        error = rejected(self, lambda: self.client.jobs.get(1))
        self.assertEqual((error.status, error.code, error.detail, error.pointer, error.request_id), (422, "invalid_request", "no", "#/url", "r1"))
        self.assertEqual(str(error), "GET /api/jobs/1: 422 no")

    def test_follows_no_redirect(self) -> None:
        self.answers = [(307, None, {"location": "https://elsewhere.example/"})]
        error = rejected(self, lambda: self.client.jobs.get(1))
        self.assertEqual((error.code, error.status, len(self.requests)), ("protocol", 307, 1))
        self.assertIn("https://elsewhere.example/", error.detail)

    def test_bounds_responses(self) -> None:
        small = self.client.with_options(max_response_bytes=1000, max_retries=0)
        self.answers = [{"data": "x" * 2000}, {"data": "x" * 900}, b"<html>", b"[" * 500000, {"other": 1}]
        self.assertIn("max_response_bytes", rejected(self, lambda: small.jobs.get(1)).detail)
        self.assertEqual(len(small.jobs.get(1)), 900)
        self.assertEqual(rejected(self, lambda: small.jobs.get(1)).code, "protocol")
        self.assertEqual(rejected(self, lambda: self.client.jobs.get(1)).code, "protocol")
        self.assertEqual(rejected(self, lambda: small.jobs.get(1)).code, "protocol")

    def test_bounds_the_time_of_a_response_that_trickles(self) -> None:
        def trickle(handler: Any) -> None:
            try:
                handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
                while True:
                    handler.wfile.write(b" ")
                    time.sleep(0.05)
            except OSError:
                handler.close_connection = True

        self.answers = [trickle]
        self.assertEqual(rejected(self, lambda: self.client.with_options(timeout=0.5, max_retries=0).jobs.get(1)).code, "timeout")

    def test_reports_a_response_that_was_cut_off(self) -> None:
        def cut(handler: Any) -> None:
            handler.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"data":')
            handler.close_connection = True

        self.answers = [cut]
        self.assertEqual(rejected(self, lambda: self.client.with_options(max_retries=0).jobs.get(1)).code, "network")

    def test_uses_connections_again_and_notices_closed_ones(self) -> None:
        ports = set()
        self.answers = [lambda handler: (ports.add(handler.client_address), respond(handler, 200, {"data": 1}))] * 3
        for _ in range(3):
            self.client.jobs.get(1)
        self.assertEqual(len(ports), 1)
        self.answers = [(200, {"data": 1}, {"connection": "close"}), None]
        self.client.jobs.get(1)
        self.client.jobs.get(1)
        self.assertEqual(len(self.requests), 6)

    def test_repeats_only_when_nothing_was_sent(self) -> None:
        nobody = Client("http://127.0.0.1:1", "k", max_retries=1, refused_for=0)
        began = time.monotonic()
        error = rejected(self, lambda: nobody.jobs.run(1))
        self.assertEqual((error.code, error.sent), ("network", False))
        self.assertGreater(time.monotonic() - began, 0.1)

    def test_reads_only_the_query_of_a_link(self) -> None:
        self.answers = [(200, {"data": [1]}, {"link": '<https://elsewhere.example/x?cursor=a%2Bb&tag=1&tag=2>; rel="next"'}), {"data": [2]}]
        self.assertEqual(list(self.client.jobs.list()), [1, 2])
        self.assertEqual(self.requests[1][1], "/base/api/jobs?cursor=a%2Bb&tag=1&tag=2")
        self.answers = [(200, {"data": [1]}, {"link": '</api/jobs?cursor=a>; rel="next"'})] * 3
        self.assertEqual(rejected(self, lambda: list(self.client.jobs.list())).code, "protocol")

    def test_speaks_tls_with_whom_it_trusts(self) -> None:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with Client(target(self.server.port), "k", ssl_context=context) as careless:
            self.assertEqual([careless.jobs.get(1), careless.jobs.get(1)], [JOB, JOB])
        error = rejected(self, lambda: Client(target(self.server.port), "k").jobs.get(1))
        self.assertEqual((error.code, error.sent, len(self.requests)), ("protocol", False, 2))

    def test_names_records_in_paths(self) -> None:
        self.client.jobs.get(punctual.Key("a/b ?é"))
        self.assertEqual(self.requests[0][1], "/base/api/jobs/key%3Aa%2Fb%20%3F%C3%A9")
        for name in ("", ".", ".."):
            with self.assertRaises(ValueError):
                self.client.limits.get(name)

    def test_sends_times_and_durations(self) -> None:
        self.client.jobs.create({"url": "x", "scheduled_at": datetime(2031, 1, 1, tzinfo=timezone(timedelta(hours=2))), "timeout": timedelta(seconds=1.5), "repeat_every": timedelta(hours=1)})
        sent = json.loads(self.requests[0][3])
        sent.pop("request_id")
        self.assertEqual(sent, {"url": "x", "scheduled_at": "2031-01-01T00:00:00+02:00", "timeout": 1.5, "repeat_every": 3600})
        for wrong in (datetime(2031, 1, 1), float("nan")):
            with self.assertRaises(ValueError):
                self.client.jobs.create({"url": "x", "scheduled_at": wrong})
        with self.assertRaises(TypeError):
            response_of({})

    def test_is_set_up_with_an_address(self) -> None:
        for url in ("ftp://a", "example.com", "http://", "http://u:p@a", "http://a?b"):
            with self.assertRaises(ValueError):
                Client(url, "k")
        for options in ({"timeout": -1}, {"max_retries": -1}):
            with self.assertRaises(ValueError):
                Client("http://a", "k", **options)
        with self.assertRaises(ValueError):
            Client("http://a", "k\r\nx: y")

    def test_ends_the_call_of_a_cancelled_task(self) -> None:
        arrived, ended = threading.Event(), threading.Event()

        def hang(handler: Any) -> None:
            arrived.set()
            handler.connection.recv(1)  # returns when the client closes
            handler.close_connection = True
            ended.set()

        self.answers = [hang]

        async def run() -> None:
            async with AsyncClient(self.server.url, "k") as other:
                task = asyncio.ensure_future(other.jobs.get(1))
                await asyncio.get_running_loop().run_in_executor(None, arrived.wait)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task

        asyncio.run(run())
        self.assertTrue(ended.wait(30))


class TestAsyncClient(unittest.TestCase):
    def test_calls_the_service(self) -> None:
        async def calls() -> None:
            async with AsyncClient(variable("URL"), variable("KEY"), max_concurrent=2) as other:
                self.assertEqual(await other.ping(), {"message": "Pong"})
                far = "2031-06-01T09:00:00Z"
                jobs = await asyncio.gather(*(other.jobs.create({"url": "https://example.com", "scheduled_at": far, "tags": ["async"]}) for _ in range(5)))
                self.assertEqual({one["id"] async for one in other.jobs.list(tag="async", limit=2)}, {one["id"] for one in jobs})
                self.assertEqual(len(await other.jobs.list(tag="async").take(3)), 3)
                stream = other.events()
                first = asyncio.ensure_future(stream.__anext__())
                while not first.done():
                    await other.jobs.create({"url": "https://example.com", "scheduled_at": far, "tags": ["async"]})
                    await asyncio.wait([first], timeout=0.5)
                self.assertEqual((await first).type, "job")
                await stream.aclose()  # type: ignore[attr-defined]
                await asyncio.gather(*(other.jobs.cancel(one["id"]) for one in jobs))
                self.assertEqual((await other.jobs.wait(jobs[0]["id"], within=60))["job"]["state"], "cancelled")
                with self.assertRaises(PunctualError):
                    await other.with_options(max_retries=0).jobs.get(jobs[0]["job_id"] + 10**9)
                self.assertEqual([one async for one in other.logs.export(job_id=jobs[0]["job_id"])], [])

        asyncio.run(calls())

    def test_has_the_methods_of_the_client(self) -> None:
        def methods(owner: Any) -> List[str]:
            return sorted(name for name in dir(owner) if not name.startswith("_"))

        sync = client()
        other = AsyncClient(variable("URL"), "k")
        self.assertEqual([one for one in methods(sync) if one != "close"], [one for one in methods(other) if one != "aclose"])
        for name in ("jobs", "schedules", "operations", "logs", "alerts", "limits", "secrets", "account"):
            self.assertEqual(methods(getattr(sync, name)), methods(getattr(other, name)))


class TestValues(unittest.TestCase):
    def test_reads_retry_after(self) -> None:
        for text, want in (("5", 5), (" 7 ", 7), ("Thu, 01 Jan 1970 00:01:40 GMT", 90), ("Thu, 01 Jan 1970 00:00:01 GMT", 0), ("-1", None), ("1e9", None), ("", None), (None, None), ("9" * 400, None), ("٣", None)):
            self.assertEqual(parse_retry_after(text, 10), want, text)

    def test_reads_integers_of_any_length(self) -> None:
        self.assertEqual(str(_json.loads(b'{"n": %s}' % (b"9" * 5000))["n"]), "9" * 5000)
        for wrong in (b"", b"{", b"\xff", b"[" * 100000):
            with self.assertRaises(ValueError):
                _json.loads(wrong)


class TestPackage(unittest.TestCase):
    def test_has_sources_for_python_3_9(self) -> None:
        files = list((ROOT / "src").rglob("*.py"))
        self.assertGreater(len(files), 20)
        for file in files:
            tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    untyped = [one.arg for one in node.args.args[1:] + node.args.kwonlyargs if one.annotation is None]
                    self.assertEqual((untyped, node.returns is None), ([], False), f"{file.name}: {node.name} is not typed")

    def test_imports_the_standard_library_only(self) -> None:
        """But for what the extra "identity" installs, which functions import when they are called."""
        import sys

        known = getattr(sys, "stdlib_module_names", None)
        if known is None:
            self.skipTest("Python 3.9 has no list of its modules")
        for file in (ROOT / "src").rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            lazy = {id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)}
            for node in ast.walk(tree):
                optional = {"cryptography", "jwt"} if id(node) in lazy else set()
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
                for name in names:
                    self.assertIn(name.split(".")[0], known | optional, file.name)

    def test_has_metadata(self) -> None:
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        self.assertEqual(re.search(r'^version = "(.*)"', text, re.M).group(1), punctual.VERSION)  # type: ignore[union-attr]
        try:
            import tomllib
        except ImportError:
            return  # Python 3.10 and older
        project = tomllib.loads(text)["project"]
        self.assertEqual((project["name"], project["dependencies"], project["requires-python"]), ("punctual-client", [], ">=3.9"))
        for file in (project["readme"], *project["license-files"], "src/punctual/py.typed"):
            self.assertTrue((ROOT / file).exists(), file)
