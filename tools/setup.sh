#!/bin/sh
# Makes .venv ready: a suitable Python, the pinned packages, and this project, editable.
#
#     tools/setup.sh EXTRA...        extras of pyproject.toml: instructor, dev, soak
#
# Once everything is there, it returns at once: .venv/.ready-EXTRA holds a checksum of the
# packages. While packages are being installed, .venv/.unfinished exists, so an interrupted run is
# noticed and .venv is made again. PYTHON=/path/to/python3 chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."

venv=$PWD/.venv
python=$venv/bin/python

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "set-up failed: $1"
    shift
    for line in "$@"; do say "    $line"; done
    exit 1
}

# Prints a checksum of everything that an installation depends on: files, folder, interpreter.
wanted() {
    { cat pyproject.toml constraints.txt && pwd && "$python" -V; } 2>/dev/null | cksum
}

is_ready() {
    [ ! -e "$venv/.unfinished" ] && [ -x "$python" ] || return 1
    now=$(wanted)
    for extra in "$@"; do
        [ "$(cat "$venv/.ready-$extra" 2>/dev/null)" = "$now" ] || return 1
    done
}

# 3.11 or newer, and of those the ones that the pinned packages have been built for.
suits() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        suits "$PYTHON" ||
            fail "PYTHON=$PYTHON is not Python 3.11 to 3.14." "Name a different one, or leave PYTHON out."
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
        if suits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.11 to 3.14 was found (python3 is: $(python3 -V 2>/dev/null || echo none))." \
        "Install one, for example:  sudo apt-get install python3 python3-venv" \
        "or name the one to use:    make ${MAKE_TARGET:-grade} PYTHON=/path/to/python3.12"
}

has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

make_venv() {
    base=$(find_python)
    if ! has_venv "$base"; then
        package=$("$base" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        # there is no program to look for: the package is installed if the module is there
        tools/system-packages.sh "$package" "$package" "creates virtual environments" || true
        has_venv "$base" || fail "$base can't create a virtual environment." \
            "Install $package (see above), then run the same command again."
    fi
    say "==> Creating .venv with $("$base" -V) ($(command -v "$base"))"
    "$base" -m venv --clear "$venv" || fail "the virtual environment could not be created." \
        "Is there room on the disk, and may you write to $PWD?"
}

pip_install() {
    "$python" -m pip install --quiet --progress-bar off --disable-pip-version-check --no-compile \
        --constraint constraints.txt "$@" </dev/null
}

need() {
    pip_install "$@" ||
        fail "pip could not install the packages (its message is above)." \
            "No network, or a full disk? Fix that and run the same command again:" \
            "it continues, and downloads nothing a second time."
}

# pip would compile one file after the other, and the packages' own tests as well. Python compiles
# what is missing when it is imported, so a failure does no harm.
compile_packages() {
    for packages in "$venv"/lib/python3*/site-packages; do
        "$python" -m compileall -q -j 0 -x '/tests?/|/torch/testing/' "$packages" \
            >/dev/null 2>&1 </dev/null || true
    done
}

install() {
    list=$(echo "$*" | tr ' ' ',')
    touch "$venv/.unfinished"
    rm -f "$venv"/.ready-*
    patience=
    [ -d "$(echo "$venv"/lib/python3*/site-packages/torch)" ] ||
        patience=" (PyTorch is large: please wait some minutes)"
    say "==> Installing the packages for: $list$patience"
    # an old pip needs twice as long to choose the files; without a new one, all goes on as before
    pip_install pip || true
    # hatchling first: the project itself is then built with the pinned one, without another download
    need hatchling editables
    need --no-build-isolation --editable ".[$list]"
    compile_packages
    for extra in "$@"; do wanted >"$venv/.ready-$extra"; done
    rm -f "$venv/.unfinished"
    say "==> Set-up is complete"
}

is_ready "$@" && exit 0

# Two calls at once (make -j, two terminals): the second waits for the first, then finds all done.
if command -v flock >/dev/null 2>&1; then
    exec 9<pyproject.toml
    flock 9
    is_ready "$@" && exit 0
fi

if [ -e "$venv/.unfinished" ]; then
    say "==> An earlier set-up was interrupted: starting again"
    make_venv
elif ! { suits "$python" && "$python" -m pip --version >/dev/null 2>&1; }; then
    make_venv
fi
# keep what an earlier set-up installed: `make grade` after `make test` must not remove tools
for extra in instructor dev soak; do
    case " $* " in
    *" $extra "*) ;;
    *) if [ -e "$venv/.ready-$extra" ]; then set -- "$@" "$extra"; fi ;;
    esac
done
install "$@"
