"""The recipes of the outbox's guide, with the libraries that they are for.

The libraries are those of the system's packages, whose Python may be another one than
that of the other tests.
"""

from __future__ import annotations

import os
import subprocess
import unittest

from .support import ROOT, python_with, variable


class TestRecipes(unittest.TestCase):
    def test_commit_together(self) -> None:
        python = python_with("django, psycopg, psycopg2, sqlalchemy")
        if python is None:
            self.skipTest("Django, psycopg, psycopg2 and SQLAlchemy are not installed")
        done = subprocess.run([python, "-B", "tests/recipes.py", variable("POSTGRES"), os.environ["PUNCTUAL_BINARY"]], cwd=ROOT, env={**os.environ, "PYTHONWARNINGS": ""}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout.split("\n")[-2:]), (0, ["psycopg, psycopg with asyncio, SQLAlchemy, Django", ""]), done.stdout)
