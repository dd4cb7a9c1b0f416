"""Makes the calls that the reference shows in Python, one after the other.

Each function has the id of its call in the API document; its body is what the
reference shows.
"""

import json
import os
from datetime import datetime, timedelta, timezone

from punctual import Client, Key

punctual = Client()


def createJob():
    job = punctual.jobs.create({
        "url": "https://example.com/invoices",
        "method": "post",
        "body": {"invoice": 1042},
        "schedule_in": [30, "minutes"],
        "idempotency_key": "invoice-1042",
    })
    return job


def createJobs():
    jobs = punctual.jobs.create_many([
        {"url": "https://example.com/reminders", "schedule_in": [1, "hour"], "idempotency_key": "reminder-17"},
        {"url": "https://example.com/reminders", "schedule_in": [1, "hour"], "tags": ["billing"]},
    ])
    print(len(jobs))


def listJobs():
    for job in punctual.jobs.list(state="available", tag="billing"):
        print(job["job_id"], job["job"]["scheduled_at"])


def getJob():
    job = punctual.jobs.get(Key("invoice-1042"))
    print(job["job"]["state"])


def editJob():
    punctual.jobs.edit(Key("invoice-1042"), {"retries": 5})


def runJob():
    punctual.jobs.run(Key("invoice-1042"))


def rerunJob(job):
    punctual.jobs.rerun(job["job_id"], {"schedule_in": [1, "minute"]})


def cancelJob():
    punctual.jobs.cancel(Key("reminder-17"))


def putSchedule():
    schedule = punctual.schedules.put(Key("nightly-report"), {
        "url": "https://example.com/report",
        "method": "post",
        "cron": "0 2 * * *",
        "timezone": "Europe/Berlin",
    })
    print(schedule["id"])


def listSchedules():
    for schedule in punctual.schedules.list():
        print(schedule["id"], schedule["disabled_at"] is None)


def getSchedule():
    schedule = punctual.schedules.get(Key("nightly-report"))
    print(schedule["args"])


def editSchedule():
    punctual.schedules.edit(Key("nightly-report"), {"cron": "0 4 * * *"})


def runSchedule():
    job = punctual.schedules.run(Key("nightly-report"))
    print(job["job_id"])


def disableSchedule():
    punctual.schedules.disable(Key("nightly-report"))


def enableSchedule():
    punctual.schedules.enable(Key("nightly-report"))


def apply():
    results = punctual.schedules.apply({
        "owner": "my-repository",
        "schedules": [{"key": "cleanup", "url": "https://example.com/cleanup", "repeat_every": [1, "day"]}],
        "prune": True,
    })
    print(results[0]["key"], results[0]["result"])


def exportSchedules():
    with open("schedules.json", "w") as file:
        json.dump(punctual.schedules.export(owner="my-repository"), file)


def deleteSchedule():
    punctual.schedules.delete(Key("nightly-report"))


def startOperation():
    operation = punctual.operations.start({"action": "cancel", "filter": {"tags": ["billing"]}})
    punctual.operations.wait(operation["id"])


def listLogs():
    for entry in punctual.logs.list(event="worker.http.error"):
        print(entry["event"], entry["payload"])


def exportLogs():
    since = datetime.now(timezone.utc) - timedelta(hours=1)
    print(sum(1 for entry in punctual.logs.export(since=since)))


def putLimit():
    punctual.limits.put("stripe", {"rate": {"calls": 100, "per": 1}, "parallel": 5})


def listLimits():
    for limit in punctual.limits.list():
        print(limit["key"])


def deleteLimit():
    punctual.limits.delete("stripe")


def putAlert():
    punctual.alerts.put("billing", {
        "on": ["failed", "recovered"],
        "after": 3,
        "match": {"tags": ["billing"]},
        "to": [{"webhook": "https://example.com/alerts"}],
    })


def testAlert():
    punctual.alerts.test("billing")


def deleteAlert():
    punctual.alerts.delete("billing")


def putHeaderSecret():
    punctual.secrets.put("github", {"value": os.environ["GITHUB_TOKEN"], "hosts": ["api.github.com"]})


def deleteHeaderSecret():
    punctual.secrets.delete("github")


def createKey():
    key = punctual.account.create_key({"name": "deploy", "scope": "jobs"})
    print(key["id"])


def getStats():
    stats = punctual.account.stats(minutes=60)
    print(len(stats["data"]))


if __name__ == "__main__":
    created = createJob()
    for call in (createJobs, listJobs, getJob, editJob, runJob):
        call()
    punctual.jobs.wait(created["job_id"])
    rerunJob(created)
    for call in (
        cancelJob,
        putSchedule, listSchedules, getSchedule, editSchedule, runSchedule, disableSchedule, enableSchedule, apply, exportSchedules, deleteSchedule,
        startOperation, listLogs, exportLogs, putLimit, listLimits, deleteLimit, putAlert, testAlert, deleteAlert,
        putHeaderSecret, deleteHeaderSecret, createKey, getStats,
    ):  # fmt: skip
        call()
