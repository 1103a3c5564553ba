# A grader as an ordinary user in tier C. The course is mounted, nothing of it is in the image:
#
#     docker build -t attention-autograder .
#     docker run --rm --network none --cap-drop ALL --security-opt no-new-privileges \
#         --memory 8g --pids-limit 512 -v "$PWD:/course" \
#         attention-autograder grade course/submitted --jobs 2
#
# For a class that may be hostile run it in a virtual machine: see docs/security.md.
FROM python:3.12-slim-bookworm

# the id of the user who owns the mounted course; nothing here needs root
ARG UID=1000
# an index with PyTorch's build for CPUs, if there is one: it saves gigabytes
ARG PIP_EXTRA_INDEX_URL=

RUN useradd --uid "$UID" --create-home grader

WORKDIR /opt/autograder
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY autograder autograder
RUN PIP_EXTRA_INDEX_URL="$PIP_EXTRA_INDEX_URL" \
    pip install --no-cache-dir --constraint constraints.txt ".[instructor]"

USER grader
WORKDIR /course
ENTRYPOINT ["autograder"]
CMD ["doctor"]
