#!/bin/bash
# Takes 90 s.
# The packages in a clean Ubuntu 24.04, as in debian12.sh. Debian has no package of
# Ubuntu's archive key: without it, this is skipped.
. "$SOURCE/tests/roots/lib.sh" || exit 1
clean_root noble http://archive.ubuntu.com/ubuntu /usr/share/keyrings/ubuntu-archive-keyring.gpg
packages_work
finish
