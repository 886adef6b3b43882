"""What starting costs: bare Python, the import, a command; each in new processes, the least of several.

Run: python benchmarks/start.py
"""

import shutil
import subprocess
import sys
import time

RUNS = 7
PLAN = ["plan", "inception-v3", "--system", "dgx1-v100", "--devices", "1..1024"]


def least_s(command: list[str], runs: int = RUNS) -> float | None:
    """Seconds of the fastest run; nothing if the command fails."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
        if done.returncode != 0:
            return None
    return min(times)


def main() -> None:
    python, command = sys.executable, shutil.which("dielet")
    program = [command] if command else [python, "-m", "dielet"]
    rows = {
        "python -c pass": [python, "-c", "pass"],
        "import dielet": [python, "-c", "import dielet"],
        "import numpy": [python, "-c", "import numpy"],
        "price_columns, one plan": [
            python,
            "-c",
            "from dielet.projection.columns import price_columns as p; p('resnet-50', 'dgx1-v100', {})",
        ],
        "dielet --version": [*program, "--version"],
        "dielet plan (README)": [*program, *PLAN],
    }
    bare = least_s(rows["python -c pass"]) or float("nan")
    print(f"{'':26}{'ms':>8}{'over bare':>11}{'ratio':>8}")
    for name, arguments in rows.items():
        seconds = least_s(arguments)
        if seconds is None:
            print(f"{name:26}{'not there':>8}")
            continue
        print(f"{name:26}{seconds * 1e3:>8.0f}{(seconds - bare) * 1e3:>11.0f}{seconds / bare:>8.1f}")


if __name__ == "__main__":
    main()
