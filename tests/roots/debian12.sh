#!/bin/bash
# Takes 90 s.
# The packages in a clean Debian 12: installed by apt, used, and removed. Needs root, debootstrap
# and Debian's archive; build/roots keeps the system for the next time. The software GPU and a
# sample come from this build.
. "$SOURCE/tests/roots/lib.sh" || exit 1
clean_root bookworm http://deb.debian.org/debian
packages_work
finish
