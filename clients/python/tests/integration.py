import os
from wsgiref.simple_server import make_server

from punctual import Client
from punctual.receiver import Receiver

receiver = Receiver(os.environ["PUNCTUAL_SIGNING_SECRET"])

def remind(job):
    print(f"reminder for {job.body['to']}", flush=True)

with make_server("127.0.0.1", int(os.environ["PORT"]), receiver.job(remind).wsgi) as server:
    with Client() as punctual:  # PUNCTUAL_URL and PUNCTUAL_API_KEY
        job = punctual.jobs.create({"url": f"{os.environ['APP_URL']}/reminders", "method": "post", "body": {"to": "alex"}, "schedule_in": [1, "second"]})
        print(f"due at {job['job']['scheduled_at']}", flush=True)
    server.serve_forever()
