"""Contains all code that depends on nbgrader: on its gradebook, steps and test cells."""

from .class_source import write_class_source
from .gradebook import (
    RecordSummary,
    cells_to_grade,
    class_duedates,
    class_lateness,
    class_penalty,
    enter_grade,
    graded_elsewhere,
    human_work,
    lateness_report,
    record,
    set_extension,
    take_late_days,
)
from .settings import (
    configure,
    load_settings,
    missing_lines,
    prepare_class_folder,
    use_sandboxed_steps,
)
