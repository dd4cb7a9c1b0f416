"""Routes: on their own, in WSGI and ASGI, and with what the service sends."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import queue
import unittest
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Tuple

from punctual.receiver import ASGIMiddleware, JobDelivery, MemoryStore, Message, Receiver, Reply, RetryLater, Route, sign, wsgi

from .support import Served, client, target, variable, wsgi_server

SECRET = "whsec_" + base64.b64encode(b"\1" * 32).decode()


def quiet(**options: Any) -> Receiver:
    return Receiver(SECRET, on_error=lambda *_: None, **options)


def headers_for(body: bytes, id: str = "job_1", **more: str) -> Dict[str, str]:
    return {"Content-Type": "application/json", **sign(SECRET, id, body), **{name.replace("_", "-"): value for name, value in more.items()}}


def send(route: Route, body: bytes = b"{}", id: str = "job_1", **more: str) -> Tuple[int, Any]:
    response = route.receive("POST", "/hook", headers_for(body, id, **more), body)
    return response.status, json.loads(response.body) if response.body else None


class TestRoute(unittest.TestCase):
    def test_gives_the_handler_the_job_and_its_result_to_the_service(self) -> None:
        seen: List[JobDelivery] = []

        def handler(job: JobDelivery) -> Any:
            seen.append(job)
            return {"$set": {"count": job.state["count"] + 1}}

        body = json.dumps({"to": "a", "$job": {"id": 7}, "$state": {"count": 4}, "$previous": {"ok": True}}).encode()
        more = {"x_punctual_job_id": "7", "x_punctual_attempt": "2", "x_punctual_points": "3", "x_punctual_scheduled_at": "2026-01-01T00:00:00.000000Z"}
        self.assertEqual(send(quiet().job(handler), body, **more), (200, {"$set": {"count": 5}}))
        job = seen[0]
        self.assertEqual((job.id, job.body, job.state, job.previous, job.raw), ("job_1", {"to": "a"}, {"count": 4}, {"ok": True}, body))
        self.assertEqual((job.job_id, job.attempt, job.points, job.scheduled_at, job.completion), (7, 2, 3, datetime(2026, 1, 1, tzinfo=timezone.utc), None))

    def test_answers_repeats_with_the_first_response(self) -> None:
        calls: List[int] = []
        route = quiet().job(lambda job: (calls.append(1), {"call": len(calls)})[1])
        self.assertEqual([send(route), send(route), send(route, id="job_2")], [(200, {"call": 1}), (200, {"call": 1}), (200, {"call": 2})])

    def test_calls_the_handler_again_after_a_failure(self) -> None:
        def broken() -> Any:
            raise KeyError("broken")

        def later() -> Any:
            raise RetryLater(90.5)

        results: List[Any] = [broken, later, lambda: {"$fail": "no"}, lambda: Reply(409, {"busy": True}), lambda: Reply(202), lambda: float("nan"), lambda: "x" * (256 << 10), lambda: None, lambda: "never"]
        route = quiet().job(lambda job: results.pop(0)())
        self.assertEqual([send(route)[0] for _ in range(9)], [500, 503, 200, 409, 202, 500, 500, 204, 204])
        self.assertEqual(len(results), 1)

    def test_refuses_what_the_service_did_not_send(self) -> None:
        route = quiet(max_body_bytes=100).job(lambda job: self.fail("called"))
        self.assertEqual(route.receive("POST", "/", {}, lambda most: self.fail("read")).status, 401)
        self.assertEqual(route.receive("POST", "/", headers_for(b"{}"), b"{ }").status, 401)
        self.assertEqual(send(route, id="msg_1")[0], 422)
        for other in (quiet().callback(lambda m: None), quiet().event(lambda m: None), quiet().alert(lambda m: None)):
            self.assertEqual([send(other)[0], send(other, id="msg_1")[0], send(other, b'["type"]', id="msg_2")[0]], [422, 422, 422])
        self.assertEqual(send(quiet().event(lambda m: m.content["type"]), b'{"type":"job.started"}', "msg_1"), (200, "job.started"))

    def test_gives_text_that_is_not_json(self) -> None:
        for body, want in ((b"", None), (b"{", "{"), (b"\xff", "\ufffd"), (b"3", 3), (b"[" * 50000, "[" * 50000)):
            seen: List[Any] = []
            send(quiet().job(lambda job: seen.append(job.body)), body)
            self.assertEqual(seen, [want])

    def test_wants_plain_handlers_with_a_database(self) -> None:
        async def handler(job: JobDelivery, tx: Any) -> None:
            pass

        store = MemoryStore()
        store.transactional = True
        with self.assertRaises(TypeError):
            quiet(store=store).job(handler)


class TestWSGI(unittest.TestCase):
    def call(self, application: Any, body: bytes, **environ: Any) -> Tuple[str, bytes]:
        seen: List[str] = []
        sent = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers_for(body).items()}
        base = {"REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": "/hook", "QUERY_STRING": "a=1", "CONTENT_TYPE": sent.pop("HTTP_CONTENT_TYPE"), "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
        result = b"".join(application({**base, **sent, **environ}, lambda status, headers: seen.append(status)))
        return seen[0], result

    def test_takes_its_paths_and_passes_others_on(self) -> None:
        def other(environ: Any, start_response: Any) -> List[bytes]:
            start_response("404 Not Found", [])
            return [b"other"]

        application = wsgi(other, {"/app/hook": quiet().job(lambda job: [job.method, job.url, job.body])})
        self.assertEqual(self.call(application, b"{}"), ("404 Not Found", b"other"))
        self.assertEqual(self.call(application, b'{"a":1}', SCRIPT_NAME="/app"), ("200 OK", b'["POST","/app/hook?a=1",{"a":1}]'))

    def test_bounds_bodies(self) -> None:
        route = quiet(max_body_bytes=10).job(lambda job: job.body)
        long = io.BytesIO(b'"234567890"')
        self.assertEqual(self.call(route.wsgi, b'"23456789"')[0], "200 OK")
        self.assertTrue(self.call(route.wsgi, b"", **{"CONTENT_LENGTH": "11", "wsgi.input": None})[0].startswith("413"))
        self.assertTrue(self.call(route.wsgi, b"", **{"CONTENT_LENGTH": "", "wsgi.input": long, "wsgi.input_terminated": True})[0].startswith("413"))
        self.assertTrue(self.call(route.wsgi, b"", **{"CONTENT_LENGTH": "5"})[0].startswith("400"))
        for length in ("-1", "1e3", "٣", "9" * 30):
            self.assertTrue(self.call(route.wsgi, b"{}", **{"CONTENT_LENGTH": length})[0].startswith("400"), length)


class TestASGI(unittest.TestCase):
    def call(self, application: Any, chunks: List[bytes], headers: Optional[List[Tuple[bytes, bytes]]] = None, type: str = "http") -> Tuple[int, bytes]:
        body = b"".join(chunks)
        events = [{"type": "http.request", "body": chunk, "more_body": n < len(chunks) - 1} for n, chunk in enumerate(chunks)] or [{"type": "http.disconnect"}]
        sent: List[Dict[str, Any]] = []

        async def receive() -> Dict[str, Any]:
            return events.pop(0)

        async def send(event: Dict[str, Any]) -> None:
            sent.append(event)

        raw = headers if headers is not None else [(name.lower().encode(), value.encode()) for name, value in headers_for(body).items()]
        scope = {"type": type, "method": "POST", "path": "/hook", "raw_path": b"/hook", "query_string": b"a=1", "headers": raw}
        asyncio.run(application(scope, receive, send))
        return sent[0]["status"], sent[1]["body"]

    def test_runs_both_kinds_of_handlers(self) -> None:
        async def handler(job: JobDelivery) -> Any:
            await asyncio.sleep(0)
            return job.body

        for route in (quiet().job(handler), quiet().job(lambda job: job.body)):
            self.assertEqual(self.call(route.asgi, [b'{"a"', b":1}"]), (200, b'{"a":1}'))
            self.assertEqual(self.call(ASGIMiddleware(route.asgi, {}), [b'{"a"', b":1}"])[0], 200)
            self.assertEqual(route.receive("POST", "/", headers_for(b"5", "job_9"), b"5").body, b"5")  # in WSGI too

    def test_bounds_bodies_and_reports_failures(self) -> None:
        route = quiet(max_body_bytes=10).job(lambda job: 1 // 0)
        self.assertEqual(self.call(route.asgi, [b"123456", b"78901"])[0], 413)
        self.assertEqual(self.call(route.asgi, [])[0], 400)
        self.assertEqual(self.call(route.asgi, [b"{}"])[0], 500)
        self.assertEqual(self.call(route.asgi, [b"{}"], [])[0], 401)
        twice = [(name.lower().encode(), value.encode()) for name, value in headers_for(b"{}").items()] * 2
        self.assertEqual(self.call(route.asgi, [b"{}"], twice)[0], 401)
        with self.assertRaises(ValueError):
            self.call(route.asgi, [], type="lifespan")

    def test_refuses_more_than_its_threads_and_their_queue_take(self) -> None:
        receiver = quiet(threads=1)
        receiver._waiting = 5
        self.assertEqual(self.call(receiver.job(lambda job: None).asgi, [b"{}"])[0], 503)

    def test_ends_nothing_early_when_handlers_wait_for_each_other(self) -> None:
        receiver = quiet(threads=2)

        async def run() -> List[int]:
            both = asyncio.Event()
            seen: List[str] = []

            async def handler(job: JobDelivery) -> None:
                seen.append(job.id)
                if len(seen) == 2:
                    both.set()
                await both.wait()

            route = receiver.job(handler)

            async def read(_: int) -> bytes:
                return b"{}"

            answers = await asyncio.gather(*(route.receive_async("POST", "/", headers_for(b"{}", f"job_{n}"), read) for n in range(2)))
            return [one.status for one in answers]

        self.assertEqual(asyncio.run(run()), [204, 204])


class TestWithTheService(unittest.TestCase):
    def test_receives_jobs_callbacks_events_and_alerts(self) -> None:
        got: "queue.Queue[Tuple[str, Any]]" = queue.Queue()
        receiver = Receiver(variable("SECRET"))

        def message(kind: str) -> Any:
            def handler(message: Message[Any]) -> None:
                got.put((kind, message.content))

            return handler

        routes = {
            "/job": receiver.job(lambda job: (got.put(("job", job)), {"ok": True})[1]),
            "/callback": receiver.callback(message("callback")),
            "/event": receiver.event(message("event")),
            "/alert": receiver.alert(message("alert")),
        }
        base = target(Served(self, wsgi_server(wsgi(lambda *_: self.fail("another path"), routes))).port)
        with client() as punctual:
            job = punctual.jobs.create({"url": f"{base}/job?a=1", "method": "post", "body": {"to": "ü"}, "callback_url": f"{base}/callback", "webhook_url": f"{base}/event"})
            punctual.alerts.put("received", {"on": ["failed"], "to": [{"webhook": f"{base}/alert"}]})
            self.assertEqual(punctual.alerts.test("received")["results"][0]["status"], 204)
            punctual.alerts.delete("received")
            received: Dict[str, List[Any]] = {"job": [], "callback": [], "event": [], "alert": []}
            while not all(received.values()) or not any(one["type"] == "job.finished" for one in received["event"]):
                kind, content = got.get(timeout=60)
                received[kind].append(content)
            self.assertEqual(punctual.jobs.wait(job["id"], within=60)["job"]["state"], "completed")
        delivery = received["job"][0]
        self.assertEqual((delivery.job_id, delivery.body, delivery.url, delivery.attempt), (job["job_id"], {"to": "ü"}, "/job?a=1", 1))
        self.assertTrue(received["callback"][0]["job"])
        self.assertEqual(received["alert"][0]["type"][:6], "alert.")
