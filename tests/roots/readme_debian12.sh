#!/bin/bash
# Takes 600 s.
# README.md and the tutorial in a clean Debian 12, typed as they stand: builds there, makes packages
# and installs them. Needs root, debootstrap, Debian's archive and CUDA's headers of this system.
. "$SOURCE/tests/roots/lib.sh" || exit 1
clean_root bookworm http://deb.debian.org/debian
readme_works
finish
