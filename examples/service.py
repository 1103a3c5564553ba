"""A web service that grades files with `autograder grade -` and returns their result lines.

    python examples/service.py 8080 --course .
    curl --data-binary @scores.py http://127.0.0.1:8080/simplified_attention/scores.py

Arguments after the port are passed to `autograder grade -`. The service accepts only connections
from this machine, so put a proxy in front of it that decides who may call it; the proxy must send
`localhost` or `127.0.0.1` as Host. The service refuses requests from pages in a browser, even if
they use a different name for this machine.
"""

import json
import os
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LARGEST = 10_000_000
#: the most connections at a time, and the most seconds of silence and of a whole request
MOST, PATIENCE, LONGEST = 64, 20, 120
HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?", re.IGNORECASE)
NAME = re.compile(r"/(\w{1,100})/(\w{1,100}\.(?:py|ipynb))", re.ASCII)


class Grader:
    """A single `autograder grade -` that grades the files of all requests."""

    def __init__(self, options):
        command = [sys.executable, "-m", "autograder", "grade", "-", *options]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._lock, self._waiting = threading.Lock(), {}
        threading.Thread(target=self._hand_out, daemon=True).start()

    def grade(self, assignment, name, data):
        """Returns the result of one file; each request has a different student's name."""
        with tempfile.TemporaryDirectory(prefix="upload-") as student:
            folder = Path(student, assignment)
            folder.mkdir()
            (folder / name).write_bytes(data)
            answer = self._waiting[Path(student).name] = queue.SimpleQueue()
            with self._lock:
                self._process.stdin.write(os.fsencode(folder) + b"\n")
                self._process.stdin.flush()
            return answer.get()

    def _hand_out(self):
        for line in self._process.stdout:
            answer = json.loads(line)
            student = answer.get("student") or Path(answer["path"]).parent.name
            self._waiting.pop(student).put(answer)
        os._exit(2)  # without its grader, the service ends and must be started again


class Handler(BaseHTTPRequestHandler):
    timeout = PATIENCE

    def do_POST(self):
        length, found = self.headers.get("Content-Length", ""), NAME.fullmatch(self.path)
        if "Origin" in self.headers or not HOST.fullmatch(self.headers.get("Host", "localhost")):
            return self.send_error(403, "Requests from pages in a browser are refused")
        if not found or not re.fullmatch("[0-9]{1,9}", length) or not 0 < int(length) <= LARGEST:
            return self.send_error(400, "POST a file to /<assignment>/<exercise>.py or .ipynb")
        data = self.rfile.read(int(length))
        if len(data) < int(length):
            return self.send_error(400, "The file ended before its Content-Length")
        answer = self.server.grader.grade(*found.groups(), data)
        self.send_response(400 if "path" in answer else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, MOST
    _free = threading.BoundedSemaphore(MOST)

    def process_request(self, request, client_address):
        self._free.acquire()  # others wait in the kernel's queue until one of these is done
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        # then no more is read, as if the caller had stopped sending; an answer can still be sent
        end = threading.Timer(LONGEST, request.shutdown, [socket.SHUT_RD])
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self._free.release()

    def handle_error(self, request, client_address):
        """Ignores a caller who hangs up or is silent for too long, which is not an error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    try:
        server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    except (IndexError, ValueError, OverflowError, OSError) as problem:
        sys.exit(f"give the number of a free port, such as 8080: {problem}")
    server.grader = Grader(sys.argv[2:])
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
