"""`examples/service.py` receives files by HTTP and grades them with a warm `autograder grade -`."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _post(url: str, data: bytes) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(url, data, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error) if "json" in error.headers["Content-Type"] else {}


#: invalid headers of requests with a body of 20 bytes
STRANGE = (
    "POST /simplified_attention/scores.py HTTP/1.0\r\nContent-Length: 21",
    "POST /simplified_attention/scores.py HTTP/1.0\r\nContent-Length: abc",
    "POST /simplified_attention/scores.py HTTP/1.0\r\nContent-Length: -1",
    f"POST /simplified_attention/{'s' * 300}.py HTTP/1.0\r\nContent-Length: 20",
    "POST /simplified_attention/scores.py HTTP/1.0\r\nOrigin: http://x\r\nContent-Length: 20",
)


def _raw(url: str, head: str, data: bytes) -> bytes:
    """Sends a request with this head and body; returns the status of the response."""
    address = urllib.parse.urlsplit(url)
    with socket.create_connection((address.hostname, address.port or 0), timeout=60) as there:
        there.sendall(head.encode() + b"\r\n\r\n" + data)
        there.shutdown(socket.SHUT_WR)
        return there.makefile("rb").readline().split()[1]


@contextmanager
def serving(**settings: Any) -> Iterator[Any]:
    """Runs the service without a grader, with the given settings."""
    spec = importlib.util.spec_from_file_location("service", ROOT / "examples" / "service.py")
    assert spec and spec.loader
    service = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(service)
    for name, value in settings.items():
        setattr(service, name, value)
    with service.Server(("127.0.0.1", 0), service.Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def test_a_request_that_trickles_in_is_given_up() -> None:
    with (
        serving(LONGEST=0.3) as server,
        socket.create_connection(server.server_address, timeout=5) as there,
    ):
        there.sendall(f"{STRANGE[0]}\r\n\r\nx".encode())  # the rest is never sent
        assert there.makefile("rb").readline().split()[1] == b"400"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("127.0.0.1", b"400"), ("localhost:8080", b"400"), ("", b"403")),
        # names of other sites whose owners let them resolve to this machine
        *(("evil.example:8080", b"403"), ("127.0.0.1.evil.example", b"403")),
    ],
)
def test_only_requests_to_this_machines_name_are_accepted(host: str, status: bytes) -> None:
    with serving() as server:
        url = f"http://127.0.0.1:{server.server_port}"
        head = f"POST /lab/scores.py HTTP/1.1\r\nHost: {host}\r\nContent-Length: 21"
        assert _raw(url, head, bytes(20)) == status


def test_the_example_service_grades_requests_and_ends_its_grader(
    tmp_path: Path,
) -> None:
    service_py = str(ROOT / "examples" / "service.py")
    command = [sys.executable, service_py, "0", "--course", str(ROOT)]
    with subprocess.Popen(
        [*command, "--assignment", "simplified_attention", "--jobs", "2"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as service:
        assert service.stdout is not None
        url = service.stdout.readline().strip() + "/simplified_attention/scores.py"
        right = (ROOT / "solutions" / "simplified_attention" / "scores.py").read_bytes()
        with ThreadPoolExecutor() as threads:
            answers = list(threads.map(_post, [url] * 3, [right, b"1 +", right]))
        strange = [_raw(url, head, right[:20]) for head in STRANGE]
        elsewhere, _ = _post(url.replace("simplified_attention", "..%2f"), right)
        service.terminate()
        # the grader also writes to this pipe, so reading ends only when the grader has ended
        _, errors = service.communicate(timeout=60)
    assert [status for status, _ in answers] == [200, 200, 200], errors
    first, second, third = (answer for _, answer in answers)
    exercise = {e["exercise"]: e for e in first["exercises"]}["scores"]
    assert exercise["score"] == exercise["max_score"] and second["score"] == 0
    assert first["exercises"] == third["exercises"]
    assert elsewhere == 400
    assert strange == [b"400", b"400", b"400", b"400", b"403"]
    assert "Traceback" not in errors
