"""What runs inside the sandbox, with a student's code. Imports nothing else of the project.

In a worker these modules are all there is of the project, so nothing here may hold or find a
test, a solution or a known output.
"""
