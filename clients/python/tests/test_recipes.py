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
        self.run_recipes("django, psycopg, psycopg2, sqlalchemy", "recipes.py", variable("POSTGRES"), "psycopg, psycopg with asyncio, SQLAlchemy, Django")

    def test_commit_together_on_mariadb(self) -> None:
        socket = os.environ.get("PUNCTUAL_TEST_MARIADB")
        if not socket:
            self.skipTest("MariaDB's server is missing: install mariadb-server")
        self.run_recipes("pymysql, sqlalchemy", "mysql_recipes.py", socket, "PyMySQL, SQLAlchemy")

    def run_recipes(self, libraries: str, program: str, database: str, printed: str) -> None:
        python = python_with(libraries)
        if python is None:
            self.skipTest(f"no Python has {libraries}")
        done = subprocess.run([python, "-B", f"tests/{program}", database, os.environ["PUNCTUAL_BINARY"]], cwd=ROOT, env={**os.environ, "PYTHONWARNINGS": ""}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout.split("\n")[-2:]), (0, [printed, ""]), done.stdout)
