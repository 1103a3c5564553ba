#!/bin/sh
# Installs a Debian/Ubuntu package if a program is missing and no password is needed; otherwise says
# what to type.
#
#     tools/system-packages.sh bubblewrap bwrap "isolates what students submit"
#     tools/system-packages.sh PACKAGE    PROGRAMS  WHAT-IT-DOES
#
# One of PROGRAMS (separated by spaces) is enough.
#
# Exit status: 0 the program is there, 1 it is not; the caller decides whether to continue.
set -eu

package=$1
programs=$2
purpose=$3

is_there() {
    for program in $programs; do
        if command -v "$program" >/dev/null 2>&1; then return 0; fi
    done
    return 1
}

say() { printf '%s\n' "$*" >&2; }

# Prints how to become root without a password, or nothing if that is not possible.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        echo "env"
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        echo "sudo -n env"
    fi
}

install_package() {
    log=$(mktemp)
    # $1 is one or more words: `env`, or `sudo -n env`
    # shellcheck disable=SC2086
    if { $1 DEBIAN_FRONTEND=noninteractive apt-get -qq update &&
        $1 DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends "$package"
    } >"$log" 2>&1 </dev/null; then
        rm -f "$log"
    else
        say "apt-get could not install $package:"
        tail -n 5 "$log" >&2
        rm -f "$log"
    fi
}

is_there && exit 0

root=$(as_root)
if command -v apt-get >/dev/null 2>&1 && [ -n "$root" ]; then
    say "==> Installing the system package $package ($purpose)"
    install_package "$root"
    is_there && exit 0
fi

say "$package is missing: it $purpose. Please install it once:"
if command -v apt-get >/dev/null 2>&1; then
    say "    sudo apt-get update && sudo apt-get install $package"
else
    say "    (with your system's package manager; the program is called $programs)"
fi
exit 1
