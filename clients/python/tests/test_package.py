"""What PyPI publishes: a wheel that installs without compiling, and is used from an empty project."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

USE = """
import sqlite3
from punctual import Client
from punctual.outbox import enqueue
from punctual.receiver import SQLiteStore
db = sqlite3.connect("app.db")
db.execute("CREATE TABLE punctual_outbox (id TEXT PRIMARY KEY, job TEXT, ordering_key TEXT)")
print(len(enqueue(db, {"url": "https://example.com"})), Client("https://example.com", "sk_x") is not None, SQLiteStore.__name__)
"""


class PackageTest(unittest.TestCase):
    def test_wheel_installs_and_works(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            built = subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--retries", "0", "--no-deps", "--wheel-dir", name, str(ROOT)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if "No matching distribution found for setuptools" in built.stdout:
                self.skipTest("building the wheel needs setuptools, and no registry of packages can be reached")
            self.assertEqual(built.returncode, 0, built.stdout)
            (wheel,) = directory.glob("punctual_client-*-py3-none-any.whl")
            names = zipfile.ZipFile(wheel).namelist()
            self.assertIn("punctual/py.typed", names)
            self.assertFalse([one for one in names if not one.startswith("punctual/") and ".dist-info/" not in one], names)
            venv.create(directory / "project", with_pip=True)
            python = str(directory / "project" / "bin" / "python")
            self.run_in(directory, python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel))
            self.assertEqual(self.run_in(directory, python, "-c", USE), "36 True SQLiteStore\n")

    def run_in(self, directory: Path, *command: str) -> str:
        done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout
