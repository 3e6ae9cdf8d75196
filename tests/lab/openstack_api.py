# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the true services for the lab's own needs: seeding, and an administrator's hand.

Deliberately not the product's client: what the tests are judged by must not be what they test.
"""
from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field

TIMEOUT = 60


class ApiError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:500]}")
        self.status = status


@dataclass
class Api:
    """One signed-in user. Paths are relative to SERVICE's URL in urls."""

    urls: dict[str, str]  # keystone (with /v3), glance (with /v2), nova (with /v2.1)
    token: str = ""
    user: str = ""
    opener: urllib.request.OpenerDirector = field(
        default_factory=lambda: urllib.request.build_opener(urllib.request.ProxyHandler({})))

    def call(self, method: str, service: str, path: str, body: object = None, version: str = "",
             content: str = "application/json"):
        """The answer's JSON, None when it has none."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.urls[service] + path, data=data, method=method)
        request.add_header("Content-Type", content)
        if self.token:
            request.add_header("X-Auth-Token", self.token)
        if version:
            request.add_header("OpenStack-API-Version", f"compute {version}")
        try:
            with self.opener.open(request, timeout=TIMEOUT) as answer:
                text = answer.read()
                self.headers = answer.headers
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, f"{method} {path}: {error.read().decode(errors='replace')}") from None

    def sign_in(self, user: str, password: str, project: str) -> "Api":
        domain = {"id": "default"}
        body = {"auth": {
            "identity": {"methods": ["password"], "password": {
                "user": {"name": user, "domain": domain, "password": password}}},
            "scope": {"project": {"name": project, "domain": domain}}}}
        told = self.call("POST", "keystone", "/auth/tokens", body)
        self.token, self.user = self.headers["X-Subject-Token"], told["token"]["user"]["id"]
        return self

    def make(self, collection: str, kind: str, **values) -> dict:
        """POST of one keystone object."""
        return self.call("POST", "keystone", f"/{collection}", {kind: values})[kind]
