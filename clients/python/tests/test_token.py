"""Runs the tests of tokens with a Python that has the libraries for them."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from .support import ROOT, python_with


class TestTokens(unittest.TestCase):
    def test_with_pyjwt(self) -> None:
        python = python_with("cryptography, jwt")
        if python is None:
            self.skipTest("PyJWT and cryptography are not installed")
        done = subprocess.run([python, "-B", "-m", "unittest", "tests.tokens"], cwd=ROOT, env={**os.environ, "PYTHONWARNINGS": ""}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Ran 3 tests", done.stdout)
