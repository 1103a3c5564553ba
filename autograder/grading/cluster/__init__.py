"""Grades a class on several machines with dask.distributed, the extra `cluster`.

Workers receive the course, the class secret and the submitted files, but no students' names. They
return result lines.
"""
