"""The proof of a course's content: every case whose verdict is known is graded."""
