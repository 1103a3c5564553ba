"""A web service over `autograder grade -`: send a file, get its result line back.

    python examples/service.py 8080 --course .
    curl --data-binary @scores.py http://127.0.0.1:8080/simplified_attention/scores.py

What stands after the port goes to `autograder grade -`. Whoever may call it is for a proxy in
front to decide: it listens on this machine only.
"""

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LARGEST = 10_000_000
NAME = re.compile(r"/(\w+)/(\w+\.(?:py|ipynb))")


class Grader:
    """One warm `autograder grade -` for all requests."""

    def __init__(self, options):
        command = [sys.executable, "-m", "autograder", "grade", "-", *options]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self._lock, self._waiting = threading.Lock(), {}
        threading.Thread(target=self._hand_out, daemon=True).start()

    def grade(self, assignment, name, data):
        """The result of one file, submitted under a name that no other request has."""
        with tempfile.TemporaryDirectory(prefix="upload-") as student:
            folder = Path(student, assignment)
            folder.mkdir()
            (folder / name).write_bytes(data)
            answer = self._waiting[Path(student).name] = queue.SimpleQueue()
            with self._lock:
                self._process.stdin.write(f"{folder}\n")
                self._process.stdin.flush()
            return answer.get()

    def _hand_out(self):
        for line in self._process.stdout:
            answer = json.loads(line)
            student = answer.get("student") or Path(answer["path"]).parent.name
            self._waiting.pop(student).put(answer)
        os._exit(2)  # without its grader: whatever started the service starts it again


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        size, found = int(self.headers.get("Content-Length", 0)), NAME.fullmatch(self.path)
        if not found or not 0 < size <= LARGEST:
            return self.send_error(400, "POST a file to /<assignment>/<exercise>.py or .ipynb")
        answer = self.server.grader.grade(*found.groups(), self.rfile.read(size))
        self.send_response(400 if "path" in answer else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


if __name__ == "__main__":
    try:
        server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    except (IndexError, ValueError, OverflowError, OSError) as problem:
        sys.exit(f"say a port that is free, such as 8080: {problem}")
    server.grader = Grader(sys.argv[2:])
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
