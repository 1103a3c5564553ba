"""The proof of the suites: solutions, stubs, alternatives and misconceptions, each judged."""

from __future__ import annotations

import sys
from pathlib import Path

from ..records import Verdict
from ..suite.local import LocalImplementation
from ..suite.variants import variants_in
from .engine import SuiteRunner, with_suites


def _main(root: Path, names: list[str]) -> None:  # replaced by `autograder validate`
    suites = [
        suite
        for suite in sorted((root / "tests/hidden").glob("*/test_*.py"))
        if not names
        or f"{suite.parent.name}/{suite.stem.removeprefix('test_')}" in names
        or suite.parent.name in names
    ]
    with_suites(root, suites, lambda runner: [_one(root, runner, s) for s in suites])


def _one(root: Path, runner: SuiteRunner, suite: Path) -> None:
    assignment, exercise = suite.parent.name, suite.stem.removeprefix("test_")
    solution = LocalImplementation.from_file(root / "solutions" / assignment / f"{exercise}.py")
    print(assignment, exercise, runner.points(suite), sum(runner.points(suite).values()))
    for result in runner.judge(suite, solution, seed=1):
        if result.verdict is not Verdict.CORRECT:
            print("  SOLUTION REFUSED", result.question, [t.message for t in result.tests])
    for kind, good in (("alternatives", True), ("misconceptions", False)):
        for variant in variants_in(root / "tests" / kind / assignment / f"{exercise}.py"):
            namespace = {**solution.namespace, variant.question: variant.implementation}
            answer = LocalImplementation(namespace, "")
            results = runner.judge(suite, answer, seed=2, only=variant.question)
            right = all(r.verdict is Verdict.CORRECT for r in results) and bool(results)
            if right != good:
                print(f"  {kind} {variant.name}: {'SURVIVED' if right else 'REFUSED'}")
                for r in results:
                    for t in r.tests:
                        if not t.passed:
                            print("     ", t.name, t.message.replace("\n", "\n        "))


if __name__ == "__main__":
    _main(Path.cwd(), sys.argv[1:])
