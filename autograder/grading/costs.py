"""What each stage of a run costs, in CPU seconds."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Stage(StrEnum):
    """What a grading run does, in order.

    `START` is all that is none of the others, with the fork server's start; `ASK` are the workers
    and their forks. Plans of second attempts are made where they are first asked for, in `JUDGE`.
    `TABLES` is what known mistakes answer, found out once on a machine.
    """

    START = "start"
    PLAN = "plan"
    READ = "read"
    ASK = "ask"
    JUDGE = "judge"
    NAME = "name"
    TABLES = "tables"
    WRITE = "write"
    GRADEBOOK = "gradebook"


#: those that a job is in, one after the other
OF_A_JOB = (Stage.READ, Stage.JUDGE, Stage.NAME, Stage.TABLES)

#: CPU seconds by stage
Costs = Mapping[Stage, float]


def together(one: Costs, other: Costs) -> Costs:
    """Both added up."""
    return {stage: one.get(stage, 0.0) + other.get(stage, 0.0) for stage in {**one, **other}}
