"""Judges one exercise of a submission: suites, sandboxed implementations, answers, verdicts."""
