"""Routes in WSGI: Flask, Django, Bottle, gunicorn, uWSGI."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Callable, Dict, List, Mapping, Sequence
from urllib.parse import quote

from .routes import InvalidLengthError, Route, too_large

CHUNK = 1 << 16

Environ = Dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Any]


def wsgi(application: Application, routes: Mapping[str, Route]) -> Application:
    """An application in front of another one: takes the paths of routes, passes others on.

        app.wsgi_app = wsgi(app.wsgi_app, {"/reminders": reminders})
    """

    def middleware(environ: Environ, start_response: StartResponse) -> Any:
        route = routes.get(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))
        return application(environ, start_response) if route is None else serve(route, environ, start_response)

    return middleware


def serve(route: Route, environ: Environ, start_response: StartResponse) -> Sequence[bytes]:
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = environ["CONTENT_TYPE"]
    path = quote((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1", "replace"))
    url = path + (f"?{environ['QUERY_STRING']}" if environ.get("QUERY_STRING") else "")
    response = route.receive(environ["REQUEST_METHOD"], url, headers, lambda most: read_body(environ, most))
    named = [(name.title(), value) for name, value in response.headers.items()]
    start_response(f"{response.status} {_reason(response.status)}", [*named, ("Content-Length", str(len(response.body)))])
    return [response.body]


def read_body(environ: Environ, most: int) -> bytes:
    text = environ.get("CONTENT_LENGTH") or ""
    if text and not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidLengthError("Content-Length is not a number")
    # Without a length there is a body only if the server says where it ends.
    length = int(text) if text else most + 1 if environ.get("wsgi.input_terminated") else 0
    if text and length > most:
        raise too_large(most)
    parts: List[bytes] = []
    left = length
    while left > 0:
        part = environ["wsgi.input"].read(min(CHUNK, left))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    if text and left:
        raise InvalidLengthError("the body is shorter than Content-Length")
    if not text and length and not left:
        raise too_large(most)
    return b"".join(parts)


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
