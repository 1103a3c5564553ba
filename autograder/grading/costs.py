"""The cost of each stage of a run in CPU seconds."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Stage(StrEnum):
    """The stages of a grading run, in order.

    `START` is everything that no other stage includes, such as the start of the fork server; `ASK`
    is the workers and their forks. Plans of second attempts are made when they are first needed, in
    `JUDGE`. `TABLES` is the computation of the answers of known mistakes, once per machine.
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


#: the stages of a job, one after the other
OF_A_JOB = (Stage.READ, Stage.JUDGE, Stage.NAME, Stage.TABLES)

#: CPU seconds by stage
Costs = Mapping[Stage, float]


def total_costs(one: Costs, other: Costs) -> Costs:
    """Returns the sum of both."""
    return {stage: one.get(stage, 0.0) + other.get(stage, 0.0) for stage in {**one, **other}}
