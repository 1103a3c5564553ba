#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the autograder's image.
# It needs a base image with Python 3.11 or newer: Ubuntu 24.04 has it, 22.04 does not.
set -eu
root=${AUTOGRADER_ROOT:-/autograder}
cd "$root/source"

apt-get update
apt-get install -y --no-install-recommends python3 python3-venv bubblewrap
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "this base image has $(python3 -V): choose Ubuntu 24.04 or newer" >&2
    exit 1
}
python3 -m venv venv
wheel=$(echo ./*.whl)
venv/bin/python -m pip install --no-cache-dir -c constraints.txt "$wheel[instructor]"

# all students get the same inputs, which nobody knows in advance: they are drawn from this secret
[ -s secret.key ] || venv/bin/python -c 'import secrets; print(secrets.token_hex(32))' >secret.key

# only the grader may read solutions, hidden tests and the secret
chmod -R go= course ./*.whl secret.key
venv/bin/autograder doctor
