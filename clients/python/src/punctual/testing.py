"""Starts the service for a test and moves its time.

    with punctual.testing.start() as service:
        ...                                  # create jobs with service.client
        service.advance(timedelta(days=31))  # everything due until then is sent

The command punctual must be installed, or PUNCTUAL_BINARY name its file. It runs as
`punctual dev`: with a temporary database, for this machine only, and with targets on this
machine. Only the service's time moves: requests are signed with the machine's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
from datetime import datetime, timedelta
from types import TracebackType
from typing import Dict, Optional, Type

from . import _json
from ._client import Client

_STOP_WITHIN = 10.0  # seconds
_ADVANCE_WITHIN = 600.0
_EXPORT = re.compile(r"export ([A-Z_]+)='(.*)'\n")


class Service:
    """A service that runs until stop, or the end of a with statement."""

    #: Its address, such as http://127.0.0.1:8080, and an API key with all scopes.
    url: str
    key: str
    #: What programs need to reach the service and its compatible APIs, by the name of
    #: the variable: PUNCTUAL_URL, PUNCTUAL_API_KEY, QSTASH_URL, CLOUD_TASKS_EMULATOR_HOST …
    env: Dict[str, str]
    #: Calls the service.
    client: Client

    def __init__(self, binary: str) -> None:
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [binary, "dev", "--listen", "127.0.0.1:0", "--google-listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=self._log, text=True)
        self.env = {}
        if not self._read():
            self.stop()
            raise RuntimeError(f"{binary} dev does not serve: {self._said}")
        self.url, self.key = self.env["PUNCTUAL_URL"], self.env["PUNCTUAL_API_KEY"]
        self.client = Client(self.url, self.key)

    def _read(self) -> bool:
        """Reads the lines to export until the service serves, and whether it does."""
        out = self._process.stdout
        assert out is not None
        for line in out:
            if line.startswith("listening on "):
                self._rest = threading.Thread(target=out.read, daemon=True)  # so that the service never waits for a reader
                self._rest.start()
                return True
            found = _EXPORT.fullmatch(line)
            if found:
                self.env[found[1]] = found[2]
        return False

    def advance(self, by: timedelta) -> datetime:
        """Moves the service's time ahead and returns what it is then.

        Everything that is due until then has been sent, and responses have been dealt
        with: retries, runs of schedules, callbacks.
        """
        end = time.monotonic() + _ADVANCE_WITHIN
        while True:
            moved = self._advance(by)
            now, until = _read_time(moved["now"]), _read_time(moved["until"])
            if moved["complete"]:
                return now
            if time.monotonic() > end:
                raise TimeoutError(f"the service has not moved its time to {until} within {_ADVANCE_WITHIN:.0f} seconds")
            by = until - now  # the service ends a call that takes long

    def _advance(self, by: timedelta) -> Dict[str, str]:
        request = urllib.request.Request(
            self.url + "/api/dev/advance", data=_json.dumps({"by": by.total_seconds()}),
            headers={"Authorization": "Bearer " + self.key, "Content-Type": "application/json"}, method="POST")
        with urllib.request.urlopen(request, timeout=60) as response:
            moved: Dict[str, str] = _json.loads(response.read())["data"]
            return moved

    def stop(self) -> None:
        """Stops the service, by force if it takes long. Further calls do nothing."""
        if self._log.closed:
            return
        if hasattr(self, "client"):
            self.client.close()
        self._process.terminate()
        try:
            self._process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if hasattr(self, "_rest"):
            self._rest.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.seek(0)
        self._said = self._log.read(4096)
        self._log.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], where: Optional[TracebackType]) -> None:
        self.stop()


def start() -> Service:
    """Starts a service with an empty database on free ports. The caller stops it."""
    binary = os.environ.get("PUNCTUAL_BINARY") or shutil.which("punctual")
    if not binary:
        raise FileNotFoundError("the command punctual is not installed; install it, or set PUNCTUAL_BINARY to its file")
    return Service(binary)


def _read_time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z")
