"""The promise of the package: a wheel of a clean clone runs `tent demo` in a fresh environment with `[cli]` alone.

Torch, numpy, safetensors and filelock with what they themselves require are linked from the environment that runs
this; pip finds them there and downloads the rest. `--fresh` downloads them too.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ("torch", "numpy", "safetensors", "filelock")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command in a folder, without this environment's own settings of Python and tent, and return its output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TENT", "VIRTUAL"))}
    clean["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    return subprocess.run(command, cwd=cwd, env=clean, check=True, stdout=subprocess.PIPE, text=True).stdout


def required(names: tuple[str, ...]) -> set[str]:
    """Return these distributions and, of what they require, everything that is installed here."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        try:
            requires = distribution(name).requires or ()
        except PackageNotFoundError:
            continue  # for another system or Python
        if name not in found:
            found.add(name)
            waiting += [re.split(r"[^\w.-]", each)[0] for each in requires if "extra ==" not in each]
    return found


def link(names: set[str], folder: Path) -> None:
    """Make a folder that holds these distributions and no others."""
    folder.mkdir()
    site = Path(sysconfig.get_path("purelib"))
    for name in names:
        for part in {Path(file).parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}:
            if not (folder / part).exists():
                (folder / part).symlink_to(site / part)


def check_means(shown: str) -> None:
    """Refuse a demo whose mean errors are not README's; threads may round a prediction in 10,000 differently."""
    number = r"\D+?([\d.]+)"
    means = re.search(rf"mean{number}{number}{number}", shown)
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    promised = re.search(r"Mean error: ([\d.]+)%.*?([\d.]+)%.*?([\d.]+)%", page, re.DOTALL)
    if means is None or promised is None:
        raise SystemExit("the demo's table or README's sentence has no mean errors")
    if any(abs(float(a) - float(b)) > 0.15 for a, b in zip(means.groups(), promised.groups(), strict=True)):
        raise SystemExit(f"the demo has {means.groups()}, README {promised.groups()}; make README say what runs")


def main() -> None:
    """Build, install, run."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        run("git", "clone", "-q", "--depth", "1", ROOT.as_uri(), "clone", cwd=work)
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", work, work / "clone", cwd=work)
        (wheel,) = work.glob("*.whl")
        venv.create(work / "env", with_pip=True)
        python = work / "env" / "bin" / "python"
        if "--fresh" not in sys.argv:
            link(required(SHARED), work / "shared")
            site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=work).strip()
            (Path(site) / "shared.pth").write_text(f"{work / 'shared'}\n", encoding="utf-8")
        constraints = ROOT / "constraints.txt"
        run(python, "-m", "pip", "install", "-q", "-c", constraints, f"{wheel}[cli]", cwd=work)
        run(python, "-m", "pip", "check", cwd=work)
        print(run(python, "-m", "pip", "list", "--format", "freeze", cwd=work).replace("\n", " "))
        (work / "empty").mkdir()
        print(shown := run(work / "env" / "bin" / "tent", "demo", cwd=work / "empty"))
        check_means(shown)
        if [path.name for path in (work / "empty").iterdir() if path.suffix] != ["demo.png"]:
            raise SystemExit("tent demo left no picture, or more than that")
    print(f"a wheel of a clean clone runs the demo: {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
