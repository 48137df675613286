"""What the first page of the app waits for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_first_page_of_the_app_needs_no_seaborn(ring_path: Path) -> None:
    """It would import matplotlib too, and take as long as the page itself."""
    code = """
import sys
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("visualizer/app.py", default_timeout=300).run()
assert not app.exception and app.metric, app
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, ring_path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    modules = set(done.stdout.split())
    assert "plotly" in modules
    assert modules & {"seaborn", "matplotlib"} == set()
