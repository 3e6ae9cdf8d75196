#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Collects the syslog of every machine: one /dev/log socket each, one file each.

Usage: syslogd.py SOCKETS LOGS NAME...; each line is "TIME SEVERITY MESSAGE" as it was sent.
Writes one byte to stdout once all sockets are there.
"""
import re
import selectors
import socket
import sys
import time
from pathlib import Path

SEVERITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
# "<29>Nov 30 02:00:00 cohort-reboot[12]: text", the time as glibc writes it
MESSAGE = re.compile(rb"^<(\d+)>(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )?(.*)", re.S)


def line(datagram: bytes) -> str:
    match = MESSAGE.match(datagram.rstrip(b"\0\n"))
    severity = SEVERITIES[int(match.group(1)) % 8] if match else "info"
    text = (match.group(2) if match else datagram).decode(errors="replace")
    now = time.time()
    stamp = time.strftime("%H:%M:%S", time.localtime(now)) + f".{int(now * 1000) % 1000:03d}"
    return f"{stamp} {severity} {text}\n"


def main() -> None:
    sockets, logs, names = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    selector = selectors.DefaultSelector()
    for name in names:
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind(str(sockets / name))
        (sockets / name).chmod(0o666)
        selector.register(receiver, selectors.EVENT_READ, open(logs / f"{name}.syslog", "a"))
    sys.stdout.write(".")
    sys.stdout.flush()
    while True:
        for key, _ in selector.select():
            key.data.write(line(key.fileobj.recv(65536)))
            key.data.flush()


if __name__ == "__main__":
    main()
