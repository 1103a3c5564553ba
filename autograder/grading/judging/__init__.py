"""One exercise of a submission is judged: suites, sandboxed implementations, answers, verdicts."""
