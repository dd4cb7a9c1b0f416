"""The integration of docs/guides/clients-python.md, which runs here."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from .support import ROOT, target, variable
from .test_once import free_port


class TestGuide(unittest.TestCase):
    def test_has_the_program_that_runs(self) -> None:
        guide = (ROOT.parent.parent / "docs" / "guides" / "clients-python.md").read_text(encoding="utf-8")
        program = (ROOT / "tests" / "integration.py").read_text(encoding="utf-8")
        self.assertIn(f"```python\n{program}```", guide)
        port = free_port()
        more = {
            "PORT": str(port),
            "APP_URL": target(port),
            "PUNCTUAL_URL": variable("URL"),
            "PUNCTUAL_API_KEY": variable("KEY"),
            "PUNCTUAL_SIGNING_SECRET": variable("SECRET"),
        }
        child = subprocess.Popen([sys.executable, "-B", "tests/integration.py"], cwd=ROOT, env={**os.environ, **more}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        assert child.stdout
        self.assertRegex(child.stdout.readline(), "^due at ")
        self.assertEqual(child.stdout.readline(), "reminder for alex\n")
        self.assertRegex(child.stdout.readline(), r"^job \d+ is completed\n$")
