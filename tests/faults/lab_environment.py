"""An environment with the lab in JupyterLab's place, for a whole platform: `STEELYARD_WORKSPACE_VENV` names it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

LAB = Path(__file__).resolve().parent / "lab.py"


def make(folder: Path) -> Path:
    environment = folder / "lab"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages = next(environment.glob("lib/python3*/site-packages"))
    for name in ("jupyterlab", "ipykernel"):
        (packages / name).mkdir()
        (packages / name / "__init__.py").touch()
    shutil.copy(LAB, packages / "jupyterlab" / "__main__.py")
    return environment
