"""Defines the worker's side of a cluster run: keeps an `autograder grade -` process running."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
import zipfile
from io import BytesIO
from pathlib import Path

from distributed import Worker, WorkerPlugin, get_worker

from .packing import Document, decode, unpack


class NodeError(Exception):
    """Raised if a worker's grader fails to start or ends; the message contains its last output."""


class WarmGrader:
    """A grader in a separate process; it ends when this process closes the grader's input."""

    def __init__(self, folder: Path, options: list[str]) -> None:
        self._submitted = folder / "submitted"
        self._submitted.mkdir(exist_ok=True)
        self._waiting: dict[str, queue.SimpleQueue[bytes | None]] = {}
        self._lock = threading.Lock()
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "autograder", "grade", "-", *options],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
        )
        threading.Thread(target=self._hand_out, daemon=True).start()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def grade(self, batch: list[Document]) -> list[bytes]:
        """Returns each submission's result line; raises `NodeError` if the grader ends first."""
        names = [uuid.uuid4().hex for _ in batch]
        answers = [self._begin(name, document) for name, document in zip(names, batch, strict=True)]
        try:
            lines = [answer.get() for answer in answers]
        finally:
            for name in names:
                shutil.rmtree(self._submitted / name, ignore_errors=True)
        return [self._checked(line) for line in lines]

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.terminate()
        self._process.wait()

    def _begin(self, name: str, document: Document) -> queue.SimpleQueue[bytes | None]:
        folder = self._submitted / name / document["assignment"]
        unpack(document, folder)
        line = json.dumps({"path": str(folder), "attempt": document["attempt"]})
        answer: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with self._lock:
            self._waiting[name] = answer
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()
            except OSError:
                answer.put(None)
        return answer

    def _hand_out(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name = json.loads(line).get("student")
            if name is not None:
                self._waiting.pop(name).put(line)
            else:  # the grader refused a submission, so this machine has a different course
                self._printed.write(line)
                break
        self._process.kill()
        self._process.wait()
        with self._lock:
            for answer in self._waiting.values():
                answer.put(None)

    def _checked(self, line: bytes | None) -> bytes:
        if line is None:
            self._printed.seek(0)
            text = self._printed.read()[-2000:].decode(errors="replace").strip()
            raise NodeError(f"this worker's grader ended: {text or '(it printed nothing)'}")
        return line


class GraderPlugin(WorkerPlugin):
    """Starts a worker's grader when the worker becomes available, and ends it with the worker.

    The plugin contains only the instructor's own data: the course and the class secret.
    """

    idempotent = True

    def __init__(self, name: str, course: bytes, secret: bytes, options: list[str]) -> None:
        """`course` is a zip of the files needed for grading; `options` are passed to `grade -`."""
        self.name = name
        self._course = course
        self._secret = secret
        self._options = options
        self._folder: Path | None = None
        self._grader: WarmGrader | None = None

    def setup(self, worker: Worker) -> None:
        """Unpacks the course; Dask calls this on every worker, including those that join later."""
        self._lock = threading.Lock()
        # use Dask's own folder: if this worker is killed, the next one removes its files there
        self._folder = Path(tempfile.mkdtemp(prefix="autograder-", dir=worker.local_directory))
        with zipfile.ZipFile(BytesIO(self._course)) as archive:
            archive.extractall(self._folder / "course")
        secret = self._folder / "secret.key"
        secret.touch(mode=0o600)
        secret.write_bytes(self._secret)
        self._options = [
            *("--course", str(self._folder / "course"), "--secret", str(secret)),
            *("--jobs", str(worker.state.nthreads), *self._options),
        ]
        self._grader = WarmGrader(self._folder, self._options)

    def teardown(self, worker: Worker) -> None:
        """Ends the grader and removes its files; Dask calls this when the run or worker ends."""
        if self._grader:
            self._grader.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def grade(self, batch: list[Document]) -> list[bytes]:
        """Returns the result lines of a batch; starts a new grader if the last one has ended."""
        with self._lock:
            if self._grader is None or self._grader.has_ended:
                assert self._folder is not None
                self._grader = WarmGrader(self._folder, self._options)
            grader = self._grader
        return grader.grade(batch)


def grade_batch(name: str, data: bytes) -> bytes:
    """Grades an encoded batch with the worker's plugin called `name`; returns the result lines."""
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, GraderPlugin)
    return b"".join(plugin.grade(decode(data)))
