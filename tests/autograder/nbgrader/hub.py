"""Runs a JupyterHub with which a student and an instructor exchange notebooks."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

TOKEN, PASSWORD = "of-the-test", "of-the-test"
SECONDS = 180

#: if the system user has this name, as in containers, nbgrader uses the name of the hub's user
_USER = "jovyan"

_HUB = """\
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{ports[0]}"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{ports[1]}"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{ports[2]}"
# its 20 seconds are too few for a busy machine
c.ConfigurableHTTPProxy.command = [{proxy!r}, "--proxy-timeout", "{seconds}000"]
c.JupyterHub.db_url = "sqlite:///{root}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{root}/secret"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.Authenticator.allow_all = True
c.JupyterHub.services = [{{"name": "test", "api_token": {token!r}, "admin": True}}]
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{root}/home/{{username}}"
c.Spawner.environment = {{"JUPYTER_CONFIG_PATH": "{root}/etc"}}
c.Spawner.args = ["--allow-root"]
c.Spawner.start_timeout = c.Spawner.http_timeout = {seconds}
"""

#: permits frames, because formgrader is in one, and fetches no news from the network
_SERVERS = """\
c = get_config()
headers = {"Content-Security-Policy": "frame-ancestors 'self'"}
c.ServerApp.tornado_settings = {"headers": headers}
c.LabApp.news_url = None
"""


@dataclass(frozen=True)
class Hub:
    """A running hub; `home` contains the users' folders."""

    url: str
    home: Path

    def start_server(self, user: str) -> None:
        """Starts a user's JupyterLab and waits for it."""
        self._ask("POST", f"users/{user}", {201, 409})
        self._ask("POST", f"users/{user}/server", {201, 202})
        # the response ends when the server has started
        self._ask("GET", f"users/{user}/server/progress", {200})

    def _ask(self, method: str, path: str, expected: set[int]) -> bytes:
        headers = {"Authorization": f"token {TOKEN}"}
        request = urllib.request.Request(
            f"{self.url}/hub/api/{path}", method=method, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        assert status in expected, (method, path, status, body)
        return bytes(body)


@contextmanager
def running_hub(root: Path, users: tuple[str, ...]) -> Iterator[Hub]:
    """Runs a hub within the block; the users' folders are below `root`."""
    root.mkdir()
    ports = _free_ports(3)
    for user in users:
        settings = root / "home" / user / ".jupyter" / "lab" / "user-settings"
        news = settings / "@jupyterlab" / "apputils-extension"
        news.mkdir(parents=True)
        (news / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    (root / "etc").mkdir()
    (root / "etc" / "jupyter_server_config.py").write_text(_SERVERS)
    proxy = str(Path(sys.executable).with_name("configurable-http-proxy"))
    values = {"root": root, "ports": ports, "proxy": proxy, "seconds": SECONDS}
    text = _HUB.format(**values, password=PASSWORD, token=TOKEN)
    (root / "hub.py").write_text(text)
    with ExitStack() as at_the_end:
        log = at_the_end.enter_context(open(root / "hub.log", "w"))
        process = subprocess.Popen(
            _command(root), cwd=root, env=_environment(), stdout=log, stderr=log
        )
        at_the_end.callback(process.wait)
        at_the_end.callback(process.terminate)
        hub = Hub(f"http://127.0.0.1:{ports[0]}", root / "home")
        _wait(hub, process)
        yield hub


def _command(root: Path) -> list[str]:
    """Returns a command that runs the hub in a namespace in which our user is called `jovyan`."""
    me = pwd.getpwuid(os.getuid())
    (root / "passwd").write_text(f"{_USER}:x:{me.pw_uid}:{me.pw_gid}::{root}:/bin/sh\n")
    place = ["--dev-bind", "/", "/", "--ro-bind", str(root / "passwd"), "/etc/passwd"]
    alone = ["--unshare-pid", "--proc", "/proc", "--die-with-parent"]
    hub = [str(Path(sys.executable).with_name("jupyterhub")), "-f", str(root / "hub.py")]
    return [str(shutil.which("bwrap")), *place, *alone, *hub]


def _environment() -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if "JUPYTER" not in name}
    return {**kept, "PATH": path}


def _free_ports(count: int) -> list[int]:
    with ExitStack() as at_the_end:
        sockets = [at_the_end.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _wait(hub: Hub, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{hub.url}/hub/api/", timeout=SECONDS).close()
            return
        except OSError:
            assert process.poll() is None, (hub.home.parent / "hub.log").read_text()[-3000:]
            time.sleep(0.2)
    raise AssertionError("the hub did not start")
