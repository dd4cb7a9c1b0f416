import os
from wsgiref.simple_server import demo_app, make_server

from punctual import Client
from punctual.receiver import JobDelivery, Message, Receiver, wsgi
from punctual.types import CallbackMessage

receiver = Receiver(os.environ["PUNCTUAL_SIGNING_SECRET"])

@receiver.job
def remind(job: JobDelivery) -> None:
    print(f"reminder for {job.body['to']}", flush=True)

@receiver.callback
def finished(message: Message[CallbackMessage]) -> None:
    job = message.content["job"]  # typed, like content["error"] and content["response"]
    print(f"job {job['job_id']} is {job['job']['state']}", flush=True)

app = wsgi(demo_app, {"/reminders": remind, "/finished": finished})
with make_server("127.0.0.1", int(os.environ["PORT"]), app) as server:
    with Client() as punctual:  # PUNCTUAL_URL and PUNCTUAL_API_KEY
        url = os.environ["APP_URL"]
        job = punctual.jobs.create({
            "url": f"{url}/reminders", "method": "post", "body": {"to": "alex"}, "schedule_in": [1, "second"], "callback_url": f"{url}/finished",
        })
        print(f"due at {job['job']['scheduled_at']}", flush=True)
    server.serve_forever()
