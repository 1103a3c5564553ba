# A grader as an ordinary user in tier C. The course is mounted, nothing of it is in the image:
#
#     docker build -t attention-autograder .
#     docker run --rm --network none --cap-drop ALL --security-opt no-new-privileges \
#         --memory 8g --pids-limit 512 -v "$PWD:/course" \
#         attention-autograder grade course/submitted --jobs 2
#
# For a class that may be hostile run it in a virtual machine: see docs/security.md.
FROM debian:bookworm-slim

RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv && \
    rm -rf /var/lib/apt/lists/*

# the id of the user who owns the mounted course; nothing here needs root
ARG UID=1000
# an index with PyTorch's build for CPUs, if there is one: it saves gigabytes
ARG PIP_EXTRA_INDEX_URL=

RUN useradd --uid "$UID" --create-home grader && python3 -m venv /opt/python
ENV PATH=/opt/python/bin:$PATH

WORKDIR /opt/autograder
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY autograder autograder
RUN PIP_EXTRA_INDEX_URL="$PIP_EXTRA_INDEX_URL" \
    pip install --no-cache-dir --constraint constraints.txt ".[instructor]"

USER grader
WORKDIR /course
ENTRYPOINT ["autograder"]
CMD ["doctor"]
