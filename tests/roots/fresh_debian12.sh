#!/bin/bash
# Takes 1500 s.
# `make demo` and `make check` in a clean Debian 12, with its own CUDA 11.8, gcc and Python. Needs
# root, debootstrap and Debian's archive.
. "$SOURCE/tests/roots/lib.sh" || exit 1
clean_root bookworm http://deb.debian.org/debian
fresh_works contrib non-free
finish
