"""Code that takes too long is stopped, even in a process that ignores Ctrl-C."""

from __future__ import annotations

import signal
import time

import pytest

from autograder.student.time_limit import CheckTimeout, limited


def test_a_loop_ends_in_a_process_that_ignores_ctrl_c() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a shell starts `check &` like this
    try:
        with pytest.raises(CheckTimeout, match="longer than 0.05 seconds"), limited(0.05):
            while True:
                pass
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_code_that_gets_little_of_the_processor_has_more_time() -> None:
    is_done = False
    with limited(0.05):
        time.sleep(0.1)
        is_done = True
    assert is_done
