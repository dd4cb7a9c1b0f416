"""Routes in ASGI: FastAPI, Starlette, Quart, Django, uvicorn, hypercorn."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional

from .routes import InvalidLengthError, Route, too_large

Scope = Dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Dict[str, Any]], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class ASGIMiddleware:
    """An application in front of another one: takes the paths of routes, passes others on.

        app.add_middleware(ASGIMiddleware, routes={"/reminders": reminders})
    """

    def __init__(self, app: Application, routes: Mapping[str, Route]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes.get(scope.get("path", "")) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
        else:
            await serve(route, scope, receive, send)


async def serve(route: Route, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        raise ValueError("a route is for HTTP requests; it has no lifespan: put it behind an application with ASGIMiddleware")
    headers: Dict[str, Optional[str]] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        headers[name] = None if name in headers else raw_value.decode("latin-1")  # of several, none counts
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string") or b""
    url = (path.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")
    response = await route.receive_async(scope["method"], url, headers, lambda most: read_body(receive, most))
    named = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": [*named, (b"content-length", str(len(response.body)).encode())]})
    await send({"type": "http.response.body", "body": response.body})


async def read_body(receive: Receive, most: int) -> bytes:
    parts: List[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise InvalidLengthError("the connection was closed before the body was whole")
        part = event.get("body", b"")
        size += len(part)
        if size > most:
            raise too_large(most)
        parts.append(part)
        if not event.get("more_body", False):
            return b"".join(parts)
