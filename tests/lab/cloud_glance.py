# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab cloud's glance: GET /v2/images and /v2/images/{id}."""
from __future__ import annotations

from urllib.parse import urlencode

from cloud_http import Answer, Request, of_json
from cloud_keystone import Keystone
from cloud_state import Cloud, Image


def error(code: int, title: str, message: str) -> Answer:
    return of_json({"message": message + "<br /><br />\n\n\n", "code": f"{code} {title}", "title": title}, code)


def view(image: Image) -> dict:
    return {"id": image.id, "name": image.name, "status": image.status, "visibility": image.visibility,
            "os_hidden": image.hidden, "min_disk": image.min_disk, "min_ram": 0, "size": 1000, "tags": [],
            "disk_format": "raw", "container_format": "bare", "protected": False,
            "self": f"/v2/images/{image.id}", "file": f"/v2/images/{image.id}/file",
            "schema": "/v2/schemas/image", **image.properties}


class Glance:
    def __init__(self, cloud: Cloud, keystone: Keystone) -> None:
        self.cloud = cloud
        self.keystone = keystone

    async def handle(self, request: Request, path: str) -> Answer:
        if path in ("", "/"):
            version = {"id": "v2.15", "status": "CURRENT",
                       "links": [{"rel": "self", "href": self.keystone.base + "/image/v2/"}]}
            return of_json({"versions": [version]}, 300)
        if refusal := self.keystone.judge(request, "image", path, "reader"):
            return refusal
        if request.method != "GET":
            return error(405, "Method Not Allowed", "The lab's images are read only.")
        if path == "/v2/images":
            return self._list(request)
        if path.startswith("/v2/images/"):
            image = self.cloud.images.get(path.split("/")[3])
            if image:
                return of_json(view(image))
            return error(404, "Not Found", f"No image found with ID {path.split('/')[3]}")
        return error(404, "Not Found", "The resource could not be found.")

    def _list(self, request: Request) -> Answer:
        def wanted(image: Image) -> bool:
            if image.hidden and request.first("os_hidden", "false") != "true":
                return False
            for key in ("id", "name", "status"):
                value = request.first(key)
                if not value:
                    continue
                values = [v.strip('"') for v in value[3:].split(",")] if value.startswith("in:") else [value]
                if getattr(image, key) not in values:
                    return False
            return True

        found = [image for image in self.cloud.images.values() if wanted(image)]
        marker, limit = request.first("marker"), self.cloud.knobs.image_page
        if request.first("limit"):
            limit = min(limit, int(request.first("limit")))
        start = 0
        if marker:
            start = next((i + 1 for i, image in enumerate(found) if image.id == marker), len(found))
        page = found[start : start + limit]
        body = {"images": [view(image) for image in page], "schema": "/v2/schemas/images", "first": "/v2/images"}
        if start + limit < len(found):
            query = {key: values[0] for key, values in request.query.items() if key != "marker"}
            # Relative, and without the prefix under which a proxy publishes the service.
            body["next"] = "/v2/images?" + urlencode({**query, "marker": page[-1].id})
        return of_json(body)
