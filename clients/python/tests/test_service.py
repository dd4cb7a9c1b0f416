"""Every call of the API, against the service."""

from __future__ import annotations

import re
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, List, Set

from punctual import Client, Completion, Key, LogWritten, PunctualError, response_of
from punctual._transport import Request, Transport

from .support import API, FAR, client, eventually, rejected, respond, serve, target, variable

#: Calls of the document that this client has no method for: they are for browsers, machines and `punctual listen`.
LEFT_OUT = {"getHealth", "getReadiness", "getMetrics", "getOpenAPI", "getReference", "getIssuer", "getIssuerKeys", "listen"}

#: Of two templates that match, the one without parameters is meant.
TEMPLATES = sorted(
    ((operation["operationId"], method.upper(), "{" in path, re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)))
     for path, methods in API["paths"].items() for method, operation in methods.items() if "operationId" in operation),
    key=lambda one: one[2],
)
called: Set[str] = set()
original = Transport._try


def recording(self: Transport, request: Request) -> Any:
    found = [id for id, method, _, pattern in TEMPLATES if method == request.method and pattern.fullmatch(request.path)]
    assert found, f"{request.call} is not in the document"
    called.add(found[0])
    return original(self, request)


class TestService(unittest.TestCase):
    completions: List[str] = []

    @classmethod
    def setUpClass(cls) -> None:
        Transport._try = recording  # type: ignore[method-assign]
        cls.addClassCleanup(lambda: setattr(Transport, "_try", original))

        def answer(request: Any, _: bytes) -> None:
            address = request.headers.get("x-punctual-complete")
            if address:
                cls.completions.append(address)
            body = {"$set": {"count": 1}} if request.path.endswith("/state") else {}
            respond(request, 202 if address else 200, body, content_type="application/json")

        cls.target = target(serve(cls, answer).port)
        cls.client = client()
        cls.addClassCleanup(cls.client.close)

    def test_creates_reads_changes_and_cancels_jobs(self) -> None:
        jobs = self.client.jobs
        job = jobs.create({"url": "https://example.com/a", "scheduled_at": datetime(2031, 6, 1, 9, tzinfo=timezone.utc), "tags": ["jobs"], "name": "first"})
        self.assertEqual((job["name"], job["job"]["state"], job["job"]["scheduled_at"]), ("first", "available", "2031-06-01T09:00:00.000000Z"))
        self.assertTrue(response_of(job).created)
        self.assertIsNone(job["idempotency_key"])

        read = jobs.get(job["job_id"])
        self.assertEqual(response_of(read).etag, '"1"')
        self.assertEqual(jobs.edit(job["id"], {"retries": 1, "tags": ["jobs", "edited"]}, if_match='"1"')["args"]["retries"], 1)
        stale = rejected(self, lambda: jobs.edit(job["id"], {"retries": 2}, if_match=['"1"', '"9"']))
        self.assertEqual((stale.status, stale.code), (412, "stale_revision"))
        self.assertEqual(len(jobs.revisions(job["job_id"])[0]["changes"]), 2)

        again = jobs.create({"url": "https://example.com/a", "scheduled_at": FAR, "idempotency_key": "key of/mine"})
        duplicate = jobs.create_minimal({"url": "https://example.com/a", "idempotency_key": "key of/mine"})
        self.assertEqual(duplicate, {"id": again["id"], "job_id": again["job_id"], "has_confict": True})
        self.assertEqual(jobs.cancel(Key("key of/mine"))["job"]["state"], "cancelled")
        self.assertEqual(rejected(self, lambda: jobs.get(Key("key of/mine"))).code, "not_found")

        still_there = rejected(self, lambda: jobs.cancel(job["id"], if_match='"1"'))
        self.assertEqual((still_there.status, still_there.code), (412, "stale_revision"))

        changes: Any = {"url": f"{self.target}/rerun", "schedule_in": timedelta(0)}
        rerun = jobs.rerun(again["id"], changes, idempotency_key="rerun of/mine")
        repeated = jobs.rerun(again["id"], changes, idempotency_key="rerun of/mine")
        self.assertEqual((repeated["job_id"], repeated["job"]["has_confict"]), (rerun["job_id"], True))
        self.assertNotEqual(jobs.rerun(again["id"], {"schedule_in": 3600})["job_id"], rerun["job_id"])
        self.assertEqual(rejected(self, lambda: jobs.rerun(again["id"], {"schedule_in": 3600}, idempotency_key="rerun of/mine")).status, 422)
        seen: List[str] = []
        self.assertEqual(jobs.wait(rerun["id"], within=60, on_progress=lambda one: seen.append(one["id"]))["job"]["state"], "completed")
        self.assertTrue(seen)
        details = jobs.details(rerun["id"])
        self.assertEqual((details["rerun_of"], details["attempts"][0]["status"]), (again["job_id"], 200))
        jobs.edit(job["id"], {"url": f"{self.target}/run", "name": None})
        jobs.run(job["id"])
        self.assertIsNone(jobs.wait(job["id"], within=60)["name"])
        self.assertEqual(len(jobs.preview({"url": "https://example.com", "cron": "0 9 * * *", "timezone": "Europe/Berlin"})["next"]), 5)

    def test_creates_many_jobs_at_once(self) -> None:
        jobs = self.client.jobs
        items: Any = [{"url": f"https://example.com/{n}", "scheduled_at": FAR, "tags": ["many"]} for n in range(3)]
        made = jobs.create_many(items)
        self.assertEqual([one["args"]["url"] for one in made], [one["url"] for one in items])
        outcomes = jobs.create_many_separately([items[0], {"url": "http://example.com"}], minimal=True)
        self.assertEqual([one["status"] for one in outcomes], [201, 422])
        wrong = rejected(self, lambda: jobs.create_many([items[0], {"url": "http://example.com"}]))
        self.assertEqual((wrong.status, wrong.pointer, wrong.code), (422, "#/1/url", "invalid_request"))
        self.assertEqual(jobs.counts(tag="many")["data"]["available"], 4)
        first, then = jobs.create_many_then([{"url": "https://example.com/", "scheduled_at": FAR}], {"url": "https://example.com/then"})
        self.assertEqual(jobs.details(then["job_id"])["waiting_for"], [f"job:{first[0]['job_id']}"])
        after = jobs.create({"url": "https://example.com/", "after": {"jobs": [then["job_id"]], "on": "final"}})
        self.assertFalse(after["job"]["has_confict"])

        seen = [one["job_id"] for one in jobs.list(tag=["many"], limit=2)]
        self.assertEqual(seen, sorted(set(seen), reverse=True))
        self.assertEqual(len(seen), 4)
        self.assertEqual([len(page) for page in jobs.list(tag="many", limit=3).pages()], [3, 1])
        oldest = jobs.list(tag="many", order_by=("job_id", "asc"), since=datetime(2020, 1, 1, tzinfo=timezone.utc)).take(1)
        self.assertEqual(oldest[0]["job_id"], made[0]["job_id"])
        self.assertTrue(all(one["job"]["state"] == "cancelled" for one in jobs.cancel_many([one["job_id"] for one in made])))

    def test_keeps_every_digit_and_character(self) -> None:
        body = {"n": 12345678901234567890123, "s": "ü\u2028\U0001f600\u0000"}
        self.assertEqual(self.client.jobs.create({"url": "https://example.com", "method": "post", "scheduled_at": FAR, "body": body})["args"]["body"], body)

    def test_keeps_schedules_and_their_state(self) -> None:
        schedules, key = self.client.schedules, Key("nightly report")
        first = schedules.put(key, {"url": f"{self.target}/state", "method": "post", "body": {}, "cron": "0 2 * * *"})
        self.assertTrue(response_of(first).created)
        second = schedules.put(key, {"url": f"{self.target}/state", "method": "post", "body": {}, "cron": "0 3 * * *"}, if_match=response_of(first).etag)
        self.assertEqual((response_of(second).created, response_of(second).etag), (False, '"2"'))
        spec: Any = {"url": "https://example.com", "cron": "0 3 * * *"}
        self.assertEqual(rejected(self, lambda: schedules.put(key, spec, if_match=response_of(first).etag)).status, 412)
        self.assertEqual(rejected(self, lambda: schedules.put(key, spec, if_new=True)).status, 412)
        self.assertEqual(schedules.edit(key, {"name": "Report", "tags": ["reports"]})["name"], "Report")
        self.assertEqual([one["id"] for one in schedules.list(tag="reports")], [first["id"]])
        self.assertEqual(schedules.get(first["id"])["name"], "Report")
        self.assertEqual(len(schedules.details(key)["next"]), 5)
        self.assertEqual(len(schedules.revisions(key)), 2)
        report = schedules.punctuality(key)
        self.assertEqual(report["schedule_id"], first["id"])
        self.assertEqual(schedules.punctuality(key, month=report["month"])["month"], report["month"])

        self.client.jobs.wait(schedules.run(key)["job_id"], within=60)
        self.assertEqual(schedules.state(key), {"state": {"count": 1}, "previous": {"$set": {"count": 1}}})
        schedules.set_state(key, {"count": 5})
        self.assertEqual(schedules.state(key)["state"], {"count": 5})
        schedules.clear_state(key)
        self.assertEqual(schedules.state(key)["state"], {})

        self.assertRegex(schedules.list(tag="reports", include="next_run_at").take(1)[0]["next_run_at"], r"T03:00:00\.000000Z$")
        self.assertNotIn("next_run_at", schedules.list(tag="reports").take(1)[0])
        self.assertEqual(rejected(self, lambda: schedules.disable(key, if_match=response_of(first).etag)).status, 412)
        self.assertIsNotNone(schedules.disable(key)["disabled_at"])
        self.assertIsNone(schedules.list(tag="reports", include="next_run_at").take(1)[0]["next_run_at"])
        self.assertIsNone(schedules.enable(key)["disabled_at"])
        self.assertEqual(rejected(self, lambda: schedules.mute(key, {"until": "recovered"})).status, 409)
        self.assertIsNone(schedules.mute(key, {"note": "Known."})["until"])
        self.assertEqual(schedules.details(key)["mute"]["note"], "Known.")
        schedules.unmute(key)
        self.assertIsNone(schedules.delete(key))
        self.assertEqual(rejected(self, lambda: schedules.get(key)).status, 404)

    def test_applies_and_exports_documents(self) -> None:
        schedules = self.client.schedules
        plan: Any = {"owner": "tests", "schedules": [{"key": "from-file", "url": "https://example.com/file", "cron": "0 4 * * *"}]}
        self.assertEqual([one["result"] for one in schedules.rehearse_apply(plan)["schedules"]][:1], ["created"])
        self.assertTrue(schedules.rehearse({"schedules": plan["schedules"]})["schedules"])
        applied = schedules.apply(plan)
        etag = response_of(applied).etag
        self.assertEqual([one["result"] for one in applied], ["created"])
        exported = schedules.export(owner="tests")
        self.assertEqual([one["key"] for one in exported["schedules"]], ["from-file"])
        self.assertEqual([one["result"] for one in schedules.apply(exported, if_match=etag)], ["unchanged"])
        schedules.apply({"owner": "tests", "schedules": [], "prune": True, "all": True})
        self.assertEqual(rejected(self, lambda: schedules.apply(plan, if_match=etag)).status, 412)

    def test_carries_out_operations_and_waits_for_them(self) -> None:
        operations = self.client.operations
        self.client.jobs.create_many([{"url": "https://example.com/op", "scheduled_at": FAR, "tags": ["operation"]}] * 20)
        operation: Any = {"action": "cancel", "filter": {"tags": ["operation"], "state": "scheduled"}}
        self.assertEqual(operations.dry_run(operation)["matched"], 20)
        started = operations.start(operation)
        finished = operations.wait(started["id"], within=60)
        self.assertEqual((finished["state"], finished["done"]), ("finished", 20))
        self.assertEqual(operations.get(started["id"])["done"], 20)
        self.assertEqual(operations.stop(started["id"])["state"], "finished")
        self.assertIn(started["id"], [one["id"] for one in operations.list()])

    def test_keeps_groups(self) -> None:
        groups = self.client.groups
        groups.put("mirrors", {"targets": [{"name": "a", "url": "https://a.example.com/"}]})
        self.assertEqual(len(groups.get("mirrors")["targets"]), 1)
        self.assertEqual(len(groups.list().take(10)), 1)
        groups.delete("mirrors")

    def test_lists_workflow_runs(self) -> None:
        runs = self.client.runs
        self.assertEqual(runs.list(state="failed", label="none").take(10), [])
        for call in runs.get, runs.cancel:
            with self.assertRaises(PunctualError) as refused:
                call("wfr_none")
            self.assertEqual(refused.exception.status, 404)

    def test_keeps_limits_alerts_and_secrets(self) -> None:
        limits, alerts, secrets = self.client.limits, self.client.alerts, self.client.secrets
        limit = limits.put("stripe", {"rate": {"calls": 100, "per": timedelta(minutes=1)}, "parallel": 5})
        self.assertEqual((response_of(limit).created, limit["rate"]), (True, {"calls": 100, "per": 60}))
        self.assertEqual(limits.get("stripe")["waiting"], 0)
        self.assertIs(limits.put("host:example.com", {"paused": True})["paused"], True)
        self.assertEqual(len(limits.list().take(10)), 2)
        limits.delete("stripe")
        limits.delete("host:example.com")

        self.assertEqual(alerts.put("failures", {"on": ["failed"], "to": [{"webhook": f"{self.target}/alert"}]})["after"], 1)
        self.assertEqual(alerts.test("failures")["results"][0]["status"], 200)
        self.assertEqual(alerts.get("failures")["name"], "failures")
        self.assertEqual(len(alerts.list().page()), 1)
        alerts.delete("failures")

        secrets.put("github", {"value": "a secret value", "hosts": ["api.github.com"]})
        self.assertEqual(secrets.get("github")["hosts"], ["api.github.com"])
        self.assertEqual(len(secrets.list().page()), 1)
        secrets.delete("github")

    def test_reads_and_exports_logs_and_follows_events(self) -> None:
        logs = self.client.logs
        before = logs.list().take(1)
        events = self.client.events(last_event_id=before[0]["id"] if before else None)
        # A stream reports what happens after it was opened, which the first event shows.
        job = self.client.jobs.create({"url": f"{self.target}/logged"})
        if not before:
            self.client.jobs.wait(job["id"], within=60)
            before = logs.list(order_by=("inserted_at", "asc")).take(1)
            events = self.client.events(last_event_id=before[0]["id"])
        for event in events:
            if event.type == "log" and event.log["job_id"] == job["job_id"] and event.log["event"] == "worker.http.response":
                break
        events.close()  # type: ignore[attr-defined]
        assert isinstance(event, LogWritten)
        self.assertEqual(event.log["payload"]["status"], 200)  # type: ignore[typeddict-item]
        listed = logs.list(job_id=job["job_id"], order_by=["inserted_at", "asc"]).take(10)
        self.assertEqual([one["event"] for one in listed], ["worker.http.request", "worker.http.response"])
        self.assertEqual(logs.get(event.id)["id"], event.id)
        self.assertEqual([one["id"] for one in logs.export(job_id=job["job_id"])], [one["id"] for one in listed])

    def test_reports_the_outcome_of_long_work(self) -> None:
        job = self.client.jobs.create({"url": f"{self.target}/long", "method": "post", "completion": {"within": [1, "hour"]}})
        completion = Completion(eventually("the request", lambda: self.completions and self.completions[0]) or "", url=variable("URL"))
        self.assertEqual(completion.progress(40, "sorting")["progress"]["progress"], 40)  # type: ignore[index]
        completion.succeed({"rows": 5120})
        completion.succeed({"rows": 5120})
        self.assertEqual(rejected(self, lambda: completion.fail("no", retry=False)).code, "conflict")
        completion.close()
        self.assertEqual(self.client.jobs.wait(job["id"], within=60)["job"]["state"], "completed")

    def test_manages_the_account(self) -> None:
        account = self.client.account
        self.assertGreater(account.get()["limits"]["body_bytes"], 0)
        key = account.create_key({"name": "for a test", "scope": "read"})
        with client(api_key=key["key"]) as reader:
            reader.jobs.list().page()
            forbidden = rejected(self, lambda: reader.jobs.create({"url": "https://example.com"}))
            self.assertEqual((forbidden.status, forbidden.code), (403, "forbidden"))
            account.revoke_key(key["id"])
            self.assertEqual(rejected(self, reader.jobs.list().page).code, "unauthorized")
        self.assertTrue(any(one["id"] == key["id"] and one["revoked_at"] for one in account.keys()))
        guest = account.invite_member({"email": "guest@example.com", "role": "viewer"})
        self.assertIn("/join/join_", guest["link"])
        self.assertEqual(account.change_member(guest["id"], {"role": "editor"})["role"], "editor")
        self.assertEqual(sorted(one["state"] for one in account.members()), ["invited", "member"])
        account.remove_member(guest["id"])
        self.assertIn(variable("SECRET"), [one["secret"] for one in account.signing_secrets()])
        self.assertTrue(account.audit(event="key.created").take(5))
        self.assertEqual(len(account.stats(5)["data"]), 5)
        self.assertGreaterEqual(account.punctuality()["week"]["attempts"], 0)

    def test_calls_what_needs_no_key_and_everything_else(self) -> None:
        with Client(variable("URL"), "") as stranger:
            self.assertEqual(stranger.ping(), {"message": "Pong"})
            self.assertEqual(stranger.echo({"a": [1]}), {"a": [1]})
            self.assertIsNone(stranger.echo(None))
            self.assertEqual(stranger.broadcast({"content": "hello"}), {"content": "hello"})
        self.assertIn("@", self.client.request("GET", "/api/account")["email"])

    def test_zz_has_every_call_of_the_document(self) -> None:
        # The old secret signs for another day, so the other tests can go on using it.
        self.assertEqual(len(self.client.account.rotate_signing_secret()), 2)
        self.assertEqual({id for id, *_ in TEMPLATES} - called - LEFT_OUT, set())
