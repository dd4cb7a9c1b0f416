"""What type checkers say of programs that use the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from .support import ROOT

PROGRAM = '''
from punctual import Client
from punctual.receiver import JobDelivery, Message, Receiver
from punctual.types import CallbackMessage

punctual = Client("https://punctual.example.com", "sk_x")
receiver = Receiver("whsec_x")
punctual.jobs.create({"url": "https://x", "schedule_in": [1, "hour"], "method": "POST"})
punctual.jobs.create({"url": "https://x", "schedule_in": (1.5, "hours")})
punctual.jobs.create({"url": "https://x", "schedule_in": [1, "hor"]})  # wrong: hor
punctual.jobs.create({"url": "https://x", "method": "fetch"})  # wrong: fetch
punctual.jobs.create({"url": "https://x", "nmae": "a"})  # wrong: nmae
punctual.jobs.create_many([{"url": "https://x", "on_conflict": "skip"}])  # wrong: skip
punctual.jobs.list(state="complete")  # wrong: complete


@receiver.callback
def finished(message: Message[CallbackMessage], tx: object) -> None:
    number: int = message.content["job"]["job_id"]
    state: int = message.content["job"]["job"]["state"]  # wrong: int
    print(number, state, message.content["jub"])  # wrong: jub


def remind(job: JobDelivery) -> None: ...


receiver.job(remind)
receiver.callback(remind)  # wrong: JobDelivery
'''


class TestTypes(unittest.TestCase):
    def test_name_what_is_wrong(self) -> None:
        mypy = shutil.which("mypy")
        if mypy is None:
            self.skipTest("mypy is not installed")
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "program.py"
            program.write_text(PROGRAM, encoding="utf-8")
            command = [mypy, "--strict", "--follow-imports=silent", "--no-color-output", "--hide-error-context", "--no-error-summary", "--cache-dir", os.devnull, str(program)]
            done = subprocess.run(command, cwd=directory, env={**os.environ, "MYPYPATH": str(ROOT / "src")}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        errors = {int(number): text for number, text in re.findall(r"program\.py:(\d+): error: (.*)", done.stdout)}
        wrong = {number: line.split("# wrong: ")[1] for number, line in enumerate(PROGRAM.split("\n"), 1) if "# wrong: " in line}
        self.assertEqual(sorted(errors), sorted(wrong), done.stdout)
        for number, word in wrong.items():
            self.assertIn(word, errors[number])
