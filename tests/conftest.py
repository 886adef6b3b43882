import os
from pathlib import Path

import pytest
from hypothesis import settings

# On the server the same examples every time, and no limit on the time of one: a busy machine proves nothing.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = Path(os.environ.get("DIELET_SHARED", Path(__file__).parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip(f"needs the shared data folder beside the checkout ({folder} is absent; set DIELET_SHARED)")
    return folder
