from __future__ import annotations

from typing import Any, AsyncIterator, Dict, Mapping, Optional

from ._async import AsyncResource, Runner
from ._async_resources import AsyncAccount, AsyncAlerts, AsyncGroups, AsyncJobs, AsyncLimits, AsyncLogs, AsyncOperations, AsyncRuns, AsyncSchedules, AsyncSecrets
from ._client import Client
from ._events import AccountEvent
from .types import Broadcast


class AsyncClient(AsyncResource):
    """A client of one account for asyncio.

        async with AsyncClient() as client:
            await client.jobs.create({"url": "https://example.com/hook"})

    Calls run in threads, at most max_concurrent at once; further ones wait. A task
    that is cancelled ends its call, which the service may have carried out.
    """

    _sync: Client

    def __init__(self, url: Optional[str] = None, api_key: Optional[str] = None, *, max_concurrent: int = 16, **options: Any) -> None:
        """Takes what Client takes."""
        self._use(Runner(max_concurrent), Client(url, api_key, **options))

    def _use(self, runner: Runner, sync: Client) -> None:
        super().__init__(runner, sync)
        self.jobs = AsyncJobs(runner, sync.jobs)
        self.schedules = AsyncSchedules(runner, sync.schedules)
        self.operations = AsyncOperations(runner, sync.operations)
        self.runs = AsyncRuns(runner, sync.runs)
        self.logs = AsyncLogs(runner, sync.logs)
        self.alerts = AsyncAlerts(runner, sync.alerts)
        self.groups = AsyncGroups(runner, sync.groups)
        self.limits = AsyncLimits(runner, sync.limits)
        self.secrets = AsyncSecrets(runner, sync.secrets)
        self.account = AsyncAccount(runner, sync.account)

    def with_options(self, *, timeout: Optional[float] = None, max_retries: Optional[int] = None, max_retry_wait: Optional[float] = None, refused_for: Optional[float] = None, max_response_bytes: Optional[int] = None) -> "AsyncClient":
        """The same client, its threads and connections, with other settings."""
        other = object.__new__(AsyncClient)
        other._use(self._runner, self._sync.with_options(timeout=timeout, max_retries=max_retries, max_retry_wait=max_retry_wait, refused_for=refused_for, max_response_bytes=max_response_bytes))
        return other

    def events(self, *, last_event_id: Optional[str] = None) -> AsyncIterator[AccountEvent]:
        """Follows what happens in the account, from now on; see Client.events."""
        return self._runner.stream(lambda: self._sync.events(last_event_id=last_event_id))

    async def ping(self) -> Dict[str, str]:
        """Whether the service responds; needs no key."""
        return await self._runner.run(self._sync.ping)

    async def echo(self, value: Any) -> Any:
        """Returns what it is sent; needs no key."""
        return await self._runner.run(lambda: self._sync.echo(value))

    async def broadcast(self, message: Broadcast) -> Broadcast:
        """Shows a message on the service's welcome page; needs no key."""
        return await self._runner.run(lambda: self._sync.broadcast(message))

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        repeatable: Optional[bool] = None,
    ) -> Any:
        """Any other call, whose result stands under data; see Client.request."""
        return await self._runner.run(lambda: self._sync.request(method, path, query=query, body=body, headers=headers, repeatable=repeatable))

    async def aclose(self) -> None:
        """Closes the connections that are kept open, and ends the threads."""
        self._sync.close()
        self._runner.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
