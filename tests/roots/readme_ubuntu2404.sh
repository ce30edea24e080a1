#!/bin/bash
# Takes 600 s.
# README.md and the tutorial in a clean Ubuntu 24.04, as in readme_debian12.sh. Debian has no
# package of Ubuntu's archive key: without it, this is skipped.
. "$SOURCE/tests/roots/lib.sh" || exit 1
clean_root noble http://archive.ubuntu.com/ubuntu /usr/share/keyrings/ubuntu-archive-keyring.gpg
readme_works
finish
