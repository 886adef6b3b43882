import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = Path(os.environ.get("DIELET_SHARED", Path(__file__).parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip(
            f"needs the shared data folder beside the checkout ({folder} is absent; set DIELET_SHARED)"
        )
    return folder
