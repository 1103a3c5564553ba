"""Grades a class on several machines with dask.distributed, the extra `cluster`.

Between machines travel bytes (what was submitted, without names of students) and result lines.
"""
