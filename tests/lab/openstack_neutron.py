#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""As much neutron as nova asks for with servers without networks: every list is empty.
Arguments: ADDRESS PORT"""
from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


def answer_to(path: str) -> tuple[int, dict]:
    pieces = [piece for piece in urlsplit(path).path.split("/") if piece]
    if pieces in ([], ["v2.0"]):
        return 200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": []}]}
    if len(pieces) == 2 and pieces[0] == "v2.0":
        return 200, {pieces[1].removesuffix(".json").replace("-", "_"): []}
    return 404, {"NeutronError": {"type": "NotFound", "message": "not here", "detail": ""}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        status, body = answer_to(self.path)
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
