# SPDX-License-Identifier: GPL-2.0-or-later
"""A TLS proxy that breaks things: in front of the lab cloud, or of the true services.

It ends TLS with a certificate of its own, passes one request per connection on to a plain HTTP
address (of several services each to its own: routes), and does what is planned for the next ones:
  status   an answer of the proxy's own (429, 502, 504, with headers), the request is not passed on
  truncate half of the answer's bytes, then the connection ends
  hang     no answer at all (passed on when after is true)
  reset    the connection is reset (passed on first when after is true)
Certificates are made at test time with openssl.
"""
from __future__ import annotations

import re
import socket
import ssl
import struct
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path


def _openssl(*words: str, cwd: Path) -> None:
    subprocess.run(["openssl", *words], cwd=cwd, check=True, capture_output=True, timeout=60)


def make_authority(folder: Path, name: str) -> Path:
    _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", cwd=folder)
    return folder / f"{name}.pem"


def make_certificate(folder: Path, authority: str, name: str, subject: str = "IP:127.0.0.1",
                     days: int = 2) -> Path:
    """NAME.pem and NAME.key, signed by AUTHORITY. DAYS below 1: it has ended."""
    (folder / f"{name}.ext").write_text(f"subjectAltName={subject}\n")
    _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
             "-keyout", f"{name}.key", "-out", f"{name}.csr", cwd=folder)
    _openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
             "-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem", cwd=folder)
    return folder / f"{name}.pem"


@dataclass
class Break:
    path: str = ".*"
    method: str = "*"
    count: int = 1
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = ""  # truncate, hang, reset
    after: bool = False


class Proxy:
    """Serves HTTPS on a free port of 127.0.0.1 until close()."""

    def __init__(self, upstream: tuple[str, int], certificate: Path, client_authority: Path | None = None,
                 minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> None:
        self.upstream = upstream
        self.routes: dict[str, tuple[str, int]] = {}  # "/compute" -> where, without that prefix
        self.breaks: list[Break] = []
        self.passed: list[tuple[str, str]] = []
        self._stopped = threading.Event()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = minimum
        self.context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        if client_authority:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(client_authority)
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._socket.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._stopped.set()
        self._socket.close()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        plain.settimeout(60)
        try:
            with self.context.wrap_socket(plain, server_side=True) as connection:
                self._exchange(connection)
        except (OSError, ssl.SSLError, ValueError):
            plain.close()

    def _plan(self, method: str, path: str) -> Break:
        for plan in self.breaks:
            if plan.count > 0 and plan.method in ("*", method) and re.search(plan.path, path):
                plan.count -= 1
                return plan
        return Break(count=0)

    def _exchange(self, connection: ssl.SSLSocket) -> None:
        request = _read_message(connection)
        method, path, _ = request.split(b"\r\n", 1)[0].decode().split(" ", 2)
        plan = self._plan(method, path)
        if plan.status:
            lines = [f"HTTP/1.1 {plan.status} Broken", *(f"{k}: {v}" for k, v in plan.headers.items()),
                     "Content-Type: text/html", "Content-Length: 19", "Connection: close", "", "<html>proxy</html>\n"]
            connection.sendall("\r\n".join(lines).encode())
            return
        answer = b""
        if not plan.kind or plan.kind == "truncate" or plan.after:
            answer = self._pass_on(request)
            self.passed.append((method, path))
        if plan.kind == "hang":
            self._stopped.wait(60)
        elif plan.kind == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif plan.kind == "truncate":
            connection.sendall(answer[: len(answer) - 20])
        else:
            connection.sendall(answer)

    def _route(self, line: bytes) -> tuple[bytes, tuple[str, int]]:
        """The request line as its service is to see it, and where that service is."""
        method, path, rest = line.split(b" ", 2)
        for prefix, where in self.routes.items():
            if path.startswith(prefix.encode() + b"/"):
                return b" ".join((method, path[len(prefix):], rest)), where
        return line, self.upstream

    def _pass_on(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        lines[0], where = self._route(lines[0])
        with socket.create_connection(where, timeout=60) as upstream:
            upstream.sendall(b"\r\n".join([*lines, b"Connection: close"]) + b"\r\n\r\n" + body)
            parts = []
            while part := upstream.recv(65536):
                parts.append(part)
        head, _, body = b"".join(parts).partition(b"\r\n\r\n")
        return head + b"\r\nConnection: close\r\n\r\n" + body


def _read_message(connection: ssl.SSLSocket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise OSError("closed")
        data += part
    length = re.search(rb"(?im)^content-length: *(\d+)", data)
    end = data.index(b"\r\n\r\n") + 4 + (int(length.group(1)) if length else 0)
    while len(data) < end:
        part = connection.recv(65536)
        if not part:
            raise OSError("closed")
        data += part
    return data
