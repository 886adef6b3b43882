"""CPU seconds (and instructions, under callgrind) of partition on the public inputs.

python benchmarks/partition.py ../shared/data
valgrind --tool=callgrind python benchmarks/partition.py ../shared/data --only gnmt_training
"""

import argparse
import time
from pathlib import Path

import dielet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with dnn_partitioning")
    parser.add_argument("--only", default="", help="part of a file name")
    arguments = parser.parse_args()
    total = 0.0
    for path in sorted(arguments.data.glob("dnn_partitioning/throughput-inputs/*/*.json")):
        if arguments.only not in path.stem:
            continue
        start = time.process_time()
        answer = dielet.partition(path)
        seconds = time.process_time() - start
        total += seconds
        print(f"{path.stem:28} {answer!r:60} {answer.search['explored']:>10,} stages {seconds:8.4f} s")
    print(f"{'sum':28} {total:.4f} s")


if __name__ == "__main__":
    main()
