# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab cloud's keystone: POST /v3/auth/tokens, and who may do what."""
from __future__ import annotations

import re
from datetime import datetime, timezone

from cloud_http import Answer, Request, of_html, of_json
from cloud_state import DOMAIN, PROJECT, Cloud, Credential

SERVICES = (("identity", "keystone", "/identity/v3"), ("image", "glance", "/image"),
            ("compute", "nova", "/compute/v2.1"))


def error(code: int, message: str) -> Answer:
    titles = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}
    headers = {"Vary": "X-Auth-Token"}
    if code == 401:
        headers["WWW-Authenticate"] = "Keystone uri"
    return of_json({"error": {"code": code, "message": message, "title": titles[code]}}, code, headers)


UNAUTHORIZED = "The request you have made requires authentication."


class Keystone:
    def __init__(self, cloud: Cloud, base: str, extra_catalog: list[dict] | None = None) -> None:
        self.cloud = cloud
        self.base = base
        self.regions = ["RegionOne"]
        self.extra_catalog = extra_catalog or []

    def catalog(self) -> list[dict]:
        services = []
        for kind, name, path in SERVICES:
            endpoints = [{"id": f"{name}-{region}-{interface}", "interface": interface, "region": region,
                          "region_id": region, "url": self.base + path}
                         for region in self.regions for interface in ("public", "internal", "admin")]
            services.append({"type": kind, "name": name, "id": f"{name}-id", "endpoints": endpoints})
        return services + self.extra_catalog

    async def handle(self, request: Request, path: str) -> Answer:
        if self.cloud.knobs.keystone_down:
            return of_html(503, "No server is available to handle this request.")
        if path in ("", "/", "/v3", "/v3/"):
            version = {"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
                       "links": [{"rel": "self", "href": self.base + "/identity/v3/"}]}
            if path.startswith("/v3"):
                return of_json({"version": version})
            return of_json({"versions": {"values": [version]}}, 300)
        if path == "/v3/auth/tokens" and request.method == "POST":
            return self.sign_in(request)
        return error(404, f"(http://{path}): The resource could not be found.")

    def sign_in(self, request: Request) -> Answer:
        self.cloud.counters["logins"] += 1
        try:
            auth = request.json()["auth"]
            identity = auth["identity"]
            method = identity["methods"][0]
            credential = self._identify(method, identity[method])
        except NoSuchCredential as problem:
            return error(404, str(problem))
        except (ValueError, KeyError, TypeError, IndexError):
            return error(400, "Invalid input for field 'identity': it is malformed.")
        if credential is None or credential.revoked:
            return error(401, UNAUTHORIZED)
        if method == "application_credential" and "scope" in auth:
            return error(401, "Application credentials cannot request a scope.")
        return self._answer(credential, method, scoped=method != "password" or "scope" in auth)

    def _identify(self, method: str, given: dict) -> Credential | None:
        if method == "application_credential":
            found = self.cloud.credentials.get(given.get("id", ""))
            if found is None and "name" in given:
                found = self.cloud.credentials.get(given["name"])
            if found is None or found.revoked:
                raise NoSuchCredential(f"Could not find Application Credential: {given.get('id')}.")
            return found if given["secret"] == found.secret else None
        if method == "password":
            user = given["user"]
            found = self.cloud.credentials.get("user:" + user.get("name", user.get("id", "")))
            return found if found and user["password"] == found.secret else None
        if method == "token":
            return self.cloud.owner_of(given["id"])
        raise KeyError(method)

    def _answer(self, credential: Credential, method: str, scoped: bool) -> Answer:
        token, expires = self.cloud.new_token(credential)
        text = datetime.fromtimestamp(expires, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        body = {"methods": [method], "expires_at": text, "issued_at": text, "is_domain": False,
                "user": {"id": credential.user, "name": credential.user, "domain": DOMAIN},
                "audit_ids": ["lab"]}
        if scoped:
            body |= {"project": {"id": PROJECT, "name": "slurm", "domain": DOMAIN},
                     "roles": [{"id": role, "name": role} for role in credential.roles],
                     "catalog": self.catalog()}
        return of_json({"token": body}, 201, {"X-Subject-Token": token, "Vary": "X-Auth-Token"})

    def judge(self, request: Request, service: str, path: str, role: str) -> Answer | None:
        """What the token filter in front of a service answers; None lets the request through."""
        if self.cloud.knobs.keystone_down:
            return of_html(503, "The Keystone service is temporarily unavailable.")
        credential = self.cloud.owner_of(request.headers.get("x-auth-token", ""))
        if credential is None:
            return error(401, UNAUTHORIZED)
        if credential.rules is not None and not any(
                method == request.method and re.fullmatch(pattern, f"{service}:{path}")
                for method, pattern in credential.rules):
            return error(401, UNAUTHORIZED)
        if role not in credential.roles:
            rule = "os_compute_api:servers:" + ("show" if request.method == "GET" else "rebuild")
            return of_json({"forbidden": {"code": 403,
                                          "message": f"Policy doesn't allow {rule} to be performed."}}, 403)
        return None


class NoSuchCredential(Exception):
    pass
