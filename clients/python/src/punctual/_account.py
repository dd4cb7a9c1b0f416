from __future__ import annotations

from typing import List, Optional

from ._resource import RecordList, Resource, nothing, segment, whole
from .types import AccountAnswerData, ApiKey, AuditEntry, InvitationAnswerData, KeyAnswerData, Member, MemberChange, NewApiKey, NewMember, PunctualityAnswerData, SecretListDataItem, StatsResponse

ACCOUNT = "/api/account"


class Account(Resource):
    """The account that the key belongs to."""

    def get(self) -> AccountAnswerData:
        """Its limits and how much of them is used."""
        return self._call("GET", ACCOUNT)

    def keys(self) -> List[ApiKey]:
        return self._call("GET", f"{ACCOUNT}/keys")

    def create_key(self, key: Optional[NewApiKey] = None) -> KeyAnswerData:
        """Creates a key, which is shown this once."""
        return self._once("POST", f"{ACCOUNT}/keys", body=key or {})

    def revoke_key(self, id: str) -> None:
        return self._call("DELETE", segment(f"{ACCOUNT}/keys", id), read=nothing)

    def members(self, *, limit: Optional[int] = None) -> RecordList[Member]:
        """The persons and invitations of the account, ordered by email."""
        return self._list(f"{ACCOUNT}/members", limit=limit)

    def invite_member(self, member: NewMember) -> InvitationAnswerData:
        """Invites a person; the link in the answer is shown this once."""
        return self._once("POST", f"{ACCOUNT}/members", body=member)

    def change_member(self, id: str, change: MemberChange) -> Member:
        """Changes the role of a person or an invitation."""
        return self._call("PATCH", segment(f"{ACCOUNT}/members", id), body=change)

    def remove_member(self, id: str) -> None:
        """Removes a person, or withdraws an invitation."""
        return self._call("DELETE", segment(f"{ACCOUNT}/members", id), read=nothing)

    def signing_secrets(self) -> List[SecretListDataItem]:
        """The secrets that sign, newest first."""
        return self._call("GET", f"{ACCOUNT}/signing-secrets")

    def rotate_signing_secret(self) -> List[SecretListDataItem]:
        """Adds a signing secret; the old one signs too for 24 hours."""
        return self._once("POST", f"{ACCOUNT}/signing-secrets/rotate")

    def audit(self, *, event: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None) -> RecordList[AuditEntry]:
        """Sign-ins, keys and operator actions, the latest first."""
        return self._list(f"{ACCOUNT}/audit", event=event, limit=limit, cursor=cursor)

    def stats(self, minutes: int = 60) -> StatsResponse:
        """Attempts, lateness and durations for each of the last 1 to 1440 minutes."""
        return self._call("GET", "/api/stats", query={"minutes": minutes}, read=whole)

    def punctuality(self) -> PunctualityAnswerData:
        """How late the jobs of all accounts began in the last hour, day and week."""
        return self._call("GET", "/api/punctuality")
