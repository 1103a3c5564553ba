"""Grades a class on several machines with dask.distributed, which the extra `cluster` installs.

Workers receive the course, the class secret and the submitted files, but not the students' names.
Workers return result lines.
"""
