# SPDX-License-Identifier: GPL-2.0-or-later
"""A small HTTP/1.1 server on asyncio: keep-alive, and answers that go wrong on purpose.

A handler is `async def handler(request) -> Answer`. What an Answer's `damage` says is done to the
connection instead of a clean answer.
"""
from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Awaitable, Callable
from urllib.parse import parse_qs, unquote, urlsplit

MAX_BODY = 8 * 1024 * 1024


@dataclass
class Request:
    method: str
    path: str  # decoded, without the query
    query: dict[str, list[str]]
    headers: dict[str, str]  # lower-case names
    body: bytes = b""

    def first(self, name: str, otherwise: str = "") -> str:
        return self.query.get(name, [otherwise])[0]

    def json(self) -> object:
        return json.loads(self.body)


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    damage: str = ""  # "", "close" (no answer), "truncate" (half the body), "hang" (never answers)


def of_json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    all_headers = {"Content-Type": "application/json", **(headers or {})}
    return Answer(status, json.dumps(value).encode(), all_headers)


def of_html(status: int, text: str, headers: dict[str, str] | None = None) -> Answer:
    title = HTTPStatus(status).phrase
    body = f"<html><head><title>{status} {title}</title></head><body><h1>{title}</h1>{text}</body></html>"
    return Answer(status, body.encode(), {"Content-Type": "text/html; charset=UTF-8", **(headers or {})})


Handler = Callable[[Request], Awaitable[Answer]]


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        return None
    lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _ = lines[0].split(" ", 2)
    except ValueError:
        return None
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    url = urlsplit(target)
    request = Request(method, unquote(url.path), parse_qs(url.query, keep_blank_values=True), headers)
    length = int(headers.get("content-length") or 0)
    if length > MAX_BODY:
        return None
    if length:
        try:
            request.body = await reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
    return request


def _head(answer: Answer) -> bytes:
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Unknown"
    headers = {"Date": formatdate(usegmt=True), **answer.headers, "Content-Length": str(len(answer.body))}
    lines = [f"HTTP/1.1 {answer.status} {phrase}"] + [f"{k}: {v}" for k, v in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _serve(handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while (request := await _read_request(reader)) is not None:
            answer = await handler(request)
            if answer.damage == "hang":
                await reader.read()  # until the client gives up
                return
            if answer.damage == "close":
                return
            half = answer.damage == "truncate"
            body = answer.body[: len(answer.body) // 2] if half else answer.body
            writer.write(_head(answer) + body)
            await writer.drain()
            if half or request.headers.get("connection", "").lower() == "close":
                return
    except ConnectionError:
        pass
    finally:
        writer.close()


async def listen(handler: Handler, address: str, port: int) -> asyncio.Server:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _serve(handler, reader, writer)

    return await asyncio.start_server(connected, address, port, backlog=1024, limit=1 << 16)
