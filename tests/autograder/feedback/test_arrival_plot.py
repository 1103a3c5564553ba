"""Points are shown by submission time, in groups and in a plot of bounded size."""

from __future__ import annotations

from datetime import datetime, timedelta

from autograder.classroom import Lateness, lateness
from autograder.feedback.arrival_plot import arrival_plot
from autograder.feedback.arriving import arrival_groups, arrival_spots

DUE = datetime(2026, 5, 1, 12)


def arrived(hours: float) -> Lateness:
    return lateness(DUE + timedelta(hours=hours), DUE)


def test_the_plot_keeps_times_and_points_of_a_few_submissions() -> None:
    spots = arrival_spots([(arrived(-48), 1.0), (arrived(3), 0.25), (None, 1.0)])
    assert [(s.hours, s.share, s.submissions) for s in spots] == [(-48.0, 1.0, 1), (3.0, 0.25, 1)]
    plot = arrival_plot(spots)
    assert plot is not None
    early, late = plot.circles
    assert (plot.first, plot.last) == ("2 days before", "3 h after")
    assert early.x < plot.due < late.x
    assert early.y < late.y
    assert (early.is_late, late.is_late) == (False, True)
    assert late.text == "1 submission 3 h after: 25% of the points"


def test_work_in_the_minute_that_is_due_is_not_late() -> None:
    found = [(arrived(-1), 1.0), (arrived(30 / 3600), 1.0)]
    plot = arrival_plot(arrival_spots(found))
    assert plot is not None and not any(circle.is_late for circle in plot.circles)
    (group,) = arrival_groups(found)
    assert (group.when, group.submissions) == ("in the last 3 hours", 2)


def test_the_plot_of_a_large_class_is_small_too() -> None:
    found = [(arrived(n / 7 - 200), n % 101 / 100) for n in range(3000)]
    spots = arrival_spots(found)
    assert sum(spot.submissions for spot in spots) == 3000
    assert len(spots) <= 29 * 11


def test_a_submission_a_year_later_does_not_compress_the_others() -> None:
    plot = arrival_plot(arrival_spots([(arrived(-24), 1.0), (arrived(9000), 0.0)]))
    assert plot is not None and plot.last == "14 days after"


def test_a_single_time_gives_no_plot() -> None:
    assert arrival_plot(arrival_spots([(arrived(-5), 1.0)] * 9)) is None
    assert arrival_plot(()) is None
