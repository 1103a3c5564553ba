"""Judges one exercise of a submission: runs suites on sandboxed answers, and computes verdicts."""
