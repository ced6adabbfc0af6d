"""A real browser, without a package to drive it: chromedriver speaks HTTP and JSON (the W3C's WebDriver)."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
DRIVER = shutil.which("chromedriver") or ""
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
PATIENCE = 60  # seconds that a busy machine may take to start a browser


class Browser:
    """One window."""

    def __init__(self, session: str) -> None:
        self.session = session

    def open(self, page: Path, width: int, dark: bool = False) -> None:
        """Show a file at a width, as a screen that is so wide would."""
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self._tool("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._tool("Emulation.setEmulatedMedia", {"features": [scheme]})
        self._call("POST", "/url", {"url": page.as_uri()})

    def run(self, script: str) -> Any:
        """Return what a piece of script returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def log(self) -> list[str]:
        """Return what the console and the network had to say since it was last asked."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def shot(self, path: Path) -> None:
        """Take a picture of the whole page."""
        taken = self._tool("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(taken["data"]))

    def _tool(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _call(self, verb: str, path: str, body: dict[str, Any] | None = None) -> Any:
        return call(verb, self.session + path, body)


def call(verb: str, address: str, body: dict[str, Any] | None = None) -> Any:
    """Return the value of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=verb)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on this machine
    with opener.open(request, timeout=PATIENCE) as answer:
        return json.load(answer)["value"]


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with an empty profile, and end it and all it started."""
    driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = f"http://127.0.0.1:{_port(driver)}/session"
        options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        started = call("POST", address, {"capabilities": {"alwaysMatch": wanted}})
        window = f"{address}/{started['sessionId']}"
        try:
            yield Browser(window)
        finally:
            call("DELETE", window)
    finally:
        driver.terminate()
        driver.wait(PATIENCE)
        if driver.stdout:
            driver.stdout.close()


def _port(driver: "subprocess.Popen[str]") -> int:
    limit = time.monotonic() + PATIENCE
    while driver.stdout and time.monotonic() < limit:
        line = driver.stdout.readline()
        if "successfully on port" in line:
            return int(line.rsplit("on port", 1)[1].strip(" .\n"))
        if not line:
            break
    raise OSError("chromedriver did not start")
