"""Computes time, storage and prices for classes of any size from measurements by growth.py.

    .venv/bin/python benchmarks/scale.py [--grade-ms 81] [--submissions 300 20000 1000000]

The options are numbers of submissions, numbers of cores, measurements for one submission, and
prices. Prints a Markdown table with the total CPU time, the duration on each number of cores, the
storage, and the prices of CPU time and storage.
"""

from __future__ import annotations

import argparse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, nargs="+", default=[300, 20_000, 1_000_000])
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 32, 256])
    parser.add_argument("--grade-ms", type=float, default=80.9, help="CPU to grade one")
    parser.add_argument("--record-ms", type=float, default=7.5, help="CPU to record one")
    parser.add_argument("--feedback-ms", type=float, default=5.1, help="CPU for a page")
    parser.add_argument("--line-kib", type=float, default=13.8, help="a line of results.jsonl")
    parser.add_argument("--record-kib", type=float, default=60.5, help="gradebook and autograded/")
    parser.add_argument("--page-kib", type=float, default=31.4, help="feedback pages")
    parser.add_argument("--core-hour", type=float, default=0.05, help="price of a core for an hour")
    parser.add_argument("--gb-month", type=float, default=0.10, help="price of a GB for a month")
    options = parser.parse_args()
    walls = "".join(f" with {cores} cores |" for cores in options.cores)
    print(
        f"| submissions | CPU to grade |{walls} CPU after grading "
        "| storage | cost of grading | storage per month |"
    )
    print("|---" * (6 + len(options.cores)) + "|")
    for count in options.submissions:
        grade = count * options.grade_ms / 1000
        after = count * (options.record_ms + options.feedback_ms) / 1000
        storage = count * (options.line_kib + options.record_kib + options.page_kib) * 1024 / 1e9
        times = [grade, *(grade / cores for cores in options.cores), after]
        money = ((grade + after) / 3600 * options.core_hour, storage * options.gb_month)
        cells = [f"{count:,}", *map(_time, times), f"{storage:.3g} GB", *map(_price, money)]
        print(f"| {' | '.join(cells)} |")


def _time(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _price(dollars: float) -> str:
    return f"{dollars:.2f} $"


if __name__ == "__main__":
    main()
