from __future__ import annotations

from typing import Generic, Optional, TypeVar

from ._resource import IfMatch, RecordList, Resource, conditional, nothing, segment
from .types import Alert, AlertRequest, AlertTestAnswerData, Group, HeaderSecret, Limit, LimitUseAnswerData, NewGroup, NewHeaderSecret, NewLimit

Stored = TypeVar("Stored")
Given = TypeVar("Given")
Single = TypeVar("Single")


class _Named(Resource, Generic[Stored, Given, Single]):
    """Records that have a name, and are made by giving one."""

    _base = ""

    def list(self, *, limit: Optional[int] = None, offset: Optional[int] = None) -> RecordList[Stored]:
        return self._list(self._base, limit=limit, offset=offset)

    def get(self, name: str) -> Single:
        return self._call("GET", segment(self._base, name))

    def put(self, name: str, value: Given, *, if_new: bool = False) -> Stored:
        """Creates or replaces it; if_new only creates."""
        return self._call("PUT", segment(self._base, name), body=value, **conditional(None, if_new))

    def delete(self, name: str) -> None:
        return self._call("DELETE", segment(self._base, name), read=nothing)


class Limits(_Named[Limit, NewLimit, LimitUseAnswerData]):
    """Limits for receivers; get adds how many jobs wait. host:NAME is for all jobs to a host."""

    _base = "/api/limits"


class Groups(_Named[Group, NewGroup, Group]):
    """Groups of targets: a request with a group becomes a job for each."""

    _base = "/api/groups"

    def put(self, name: str, value: NewGroup, *, if_match: Optional[IfMatch] = None, if_new: bool = False) -> Group:
        """Creates or replaces it; if_match only changes that revision, if_new only creates."""
        return self._call("PUT", segment(self._base, name), body=value, **conditional(if_match, if_new))

    def delete(self, name: str, *, if_match: Optional[IfMatch] = None) -> None:
        return self._call("DELETE", segment(self._base, name), read=nothing, **conditional(if_match))


class Secrets(_Named[HeaderSecret, NewHeaderSecret, HeaderSecret]):
    """Secrets for headers, used as {{secret.NAME}}. Their values are never shown."""

    _base = "/api/secrets"


class Alerts(_Named[Alert, AlertRequest, Alert]):
    """Alerts: messages when something fails, recovers, is late, skips due times or ends."""

    _base = "/api/alerts"

    def test(self, name: str) -> AlertTestAnswerData:
        """Sends a test message now and returns what each receiver responded."""
        return self._once("POST", f"{segment(self._base, name)}/test")
