"""How the asynchronous client runs the synchronous one: each call in a thread."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Callable, Generic, Iterator, List, Optional, TypeVar

from ._resource import Pauses, RecordList
from ._transport import Cancellation, cancellation

T = TypeVar("T")
_END: Any = object()


class Runner:
    """Threads for the calls of one client. If a task is cancelled, its call ends too."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="punctual")

    async def run(self, call: Callable[[], T]) -> T:
        """Runs a call in a thread."""
        return await run_in(self._threads, Cancellation(), call)

    async def stream(self, make: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """Iterates in a thread of its own, so that long streams don't hold up calls."""
        thread = ThreadPoolExecutor(1, thread_name_prefix="punctual-stream")
        current = Cancellation()
        iterator = make()
        try:
            while True:
                item = await run_in(thread, current, lambda: next(iterator, _END))
                if item is _END:
                    return
                yield item
        finally:
            current.cancel()
            close: Optional[Callable[[], None]] = getattr(iterator, "close", None)
            if close is not None:
                thread.submit(close)
            thread.shutdown(wait=False)

    async def poll(self, what: str, read: Callable[[], T], is_final: Callable[[T], bool], within: Optional[float], on_progress: Optional[Callable[[T], None]]) -> T:
        """Reads a record until it is final; between reads no thread waits."""
        pauses = Pauses(what, within)
        while True:
            record = await self.run(read)
            if on_progress:
                on_progress(record)
            if is_final(record):
                return record
            await asyncio.sleep(pauses.next())

    def close(self) -> None:
        self._threads.shutdown(wait=False)


async def run_in(threads: ThreadPoolExecutor, current: Cancellation, call: Callable[[], T]) -> T:
    context = contextvars.copy_context()
    context.run(cancellation.set, current)
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, lambda: context.run(call))
    except asyncio.CancelledError:
        current.cancel()
        raise


class AsyncResource:
    """The asynchronous form of a resource."""

    def __init__(self, runner: Runner, sync: Any) -> None:
        self._runner = runner
        self._sync: Any = sync


class AsyncRecordList(Generic[T]):
    """The records of a list: async for reads page after page, as they are needed."""

    def __init__(self, runner: Runner, records: RecordList[T]) -> None:
        self._runner = runner
        self._records = records

    async def page(self) -> List[T]:
        """The records of the first page."""
        return await self._runner.run(self._records.page)

    async def pages(self) -> AsyncIterator[List[T]]:
        """Page after page. Pages of searches and of several filters may be empty."""
        iterator = self._records.pages()
        while True:
            page = await self._runner.run(lambda: next(iterator, _END))
            if page is _END:
                return
            yield page

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for record in page:
                yield record

    async def take(self, at_most: int) -> List[T]:
        """The first records, at most so many."""
        return await self._runner.run(lambda: self._records.take(at_most))


