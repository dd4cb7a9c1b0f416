"""A client for punctual. What receives requests from the service is in punctual.receiver."""

from ._async import AsyncRecordList
from ._async_client import AsyncClient
from ._async_resources import AsyncCompletion
from ._client import Client
from ._events import AccountEvent, JobChanged, LogWritten, Reconnected, Skipped
from ._resource import IfMatch, JobRef, Key, RecordList, ScheduleRef
from ._result import Response, response_of
from ._version import VERSION
from .completion import Completion
from .errors import PunctualError

__all__ = [
    "AccountEvent", "AsyncClient", "AsyncCompletion", "AsyncRecordList", "Client", "Completion", "IfMatch", "JobChanged", "JobRef", "Key",
    "LogWritten", "PunctualError", "Reconnected", "RecordList", "Response", "ScheduleRef", "Skipped", "VERSION", "response_of",
]
