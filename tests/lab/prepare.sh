# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# What ./demo and ./check do before anything runs; sourced by them. Expects: top (the source tree).

build_packages=(g++ make autoconf automake libtool autoconf-archive pkg-config libslurm-dev
    libjansson-dev libmd-dev libssl-dev libfmt-dev libcurl4-openssl-dev libyaml-cpp-dev libsqlite3-dev
    libsmartcols-dev libexpected-dev libcli11-dev)
lab_packages=(slurmctld slurmd slurm-client slurmdbd slurm-wlm-basic-plugins
    slurm-wlm-mysql-plugin munge mariadb-server-core mariadb-client-core iproute2 procps
    util-linux mount python3)
# The true keystone, glance, placement and nova: their code only, no daemon of the distribution.
cloud_packages=(python3-keystone python3-glance python3-placement python3-nova uwsgi-core
    uwsgi-plugin-python3 mariadb-server-core mariadb-client-core)
deb_packages=(debhelper dpkg-dev fakeroot check)
check_packages=(check ccache clang-format cppcheck python3-pytest python3-openstacksdk shellcheck mandoc mmdebstrap
    openssl strace)
# ./check --sanitizers
sanitizer_packages=(gcovr)

log=${log:-/dev/null}

say() { printf '%s\n' "$*"; }

# step TEXT COMMAND...: one line with the time it took; the output goes to $log, and its end to
# the reader when the command fails.
step() {
    local text=$1 start=$EPOCHREALTIME code=0
    shift
    printf '%-58s' "$text"
    "$@" >>"$log" 2>&1 || code=$?
    if [ $code = 0 ]; then
        printf '%6.1f s\n' "$(awk "BEGIN { print $EPOCHREALTIME - $start }")"
    else
        printf 'failed\n'
        tail -n 30 "$log"
        say "The whole output is in $log." >&2
    fi
    return $code
}

missing_packages() {
    local package
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            printf '%s ' "$package"
    done
}

# Installs without starting the daemons: the lab starts its own, in namespaces.
apt_install() {
    local policy=/usr/sbin/policy-rc.d ours='' code=0
    if [ ! -e $policy ]; then
        ours=yes
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
    fi
    { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" || {
        apt-get update &&
            DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
    }; } </dev/null || code=$?
    [ -z "$ours" ] || rm -f $policy
    return $code
}

install_missing() {
    local packages
    if ! command -v apt-get >/dev/null; then
        say "This is not Debian: needed are ${*}." >&2
        return 0
    fi
    packages=$(missing_packages "$@")
    [ -n "$packages" ] || return 0
    # shellcheck disable=SC2086
    step "Installing $(wc -w <<<"$packages") packages" apt_install $packages
}

# configure and the Makefile.in are there and new enough that no other automake makes them again.
bootstrapped() (
    mkdir -p "$top/build" && exec 9>"$top/build/bootstrap.lock" || return
    flock 9 # ./check builds for several Slurms at once
    { [ -e "$top/Makefile.in" ] && [ -z "$(find "$top" -path "$top/build*" -prune -o \( -name '*.mk' -o -name '*.am' \
        -o -name '*.ac' -o -name 'x_*.m4' \) -newer "$top/Makefile.in" -print -quit)" ]; } || "$top/bootstrap"
)

# configured FOLDER [CONFIGURE OPTION...]: an out-of-tree build as a distribution would configure it.
configured() (
    folder=$1
    shift
    bootstrapped &&
        mkdir -p "$folder" && cd "$folder" &&
        { [ -e config.status ] || "$top/configure" --prefix=/usr --sysconfdir=/etc "$@"; }
)

# What is compiled again of the same text (by the next ./check) comes from ccache where that is installed,
# whatever folder it lies in.
use_ccache() {
    [ -x /usr/lib/ccache/g++ ] || return 0
    export PATH=/usr/lib/ccache:$PATH CCACHE_DIR=${CCACHE_DIR:-$top/build/ccache} CCACHE_BASEDIR=$top \
        CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
}

# build FOLDER FLAG [CONFIGURE OPTION...]: with that optimization, without debug information, and with the common
# headers compiled once (half of the compiler's time). What is made in FOLDER afterwards wants the
# variable of flags_of FOLDER FLAG. g++ 12 does not know system headers again in a compiled one, and tells of
# its own strings what it keeps to itself else: distcheck asks for that warning.
build() {
    local folder=$1 flag=$2
    shift 2
    configured "$folder" CXXFLAGS="$flag" "$@" && make -C "$folder" precompiled.hpp.gch &&
        make -C "$folder" -j"$(nproc)" "$(flags_of "$folder" "$flag")"
}

flags_of() { echo "CXXFLAGS=$2 -include $1/precompiled.hpp -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict"; }

# stage FOLDER: what `make install` of the build in FOLDER leaves, in FOLDER/stage.
stage() {
    rm -rf "$1/stage" &&
        make -C "$1" -s install DESTDIR="$1/stage"
}

need_root() {
    [ "$(id -u)" = 0 ] || {
        say "$0 installs packages and makes namespaces: run it as root." >&2
        exit 2
    }
}
