"""Judges an exercise in a submission: runs suites on sandboxed answers, and computes verdicts."""
