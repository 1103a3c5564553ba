"""Grades a class on several machines with dask.distributed, the extra `cluster`.

Only bytes (submitted files, without names of students) and result lines are sent between machines.
"""
