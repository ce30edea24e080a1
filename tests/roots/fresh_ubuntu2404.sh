#!/bin/bash
# Takes 1500 s.
# `make demo` and `make check` in a clean Ubuntu 24.04, with its own CUDA 12.0, gcc 13 and Python
# 3.12. Debian has no package of Ubuntu's archive key: there NO_CHECK_GPG=1 is needed.
. "$SOURCE/tests/roots/lib.sh" || exit 1
clean_root noble http://archive.ubuntu.com/ubuntu \
    "$([ -n "${NO_CHECK_GPG:-}" ] || echo /usr/share/keyrings/ubuntu-archive-keyring.gpg)"
fresh_works restricted universe multiverse
finish
