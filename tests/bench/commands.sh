#!/bin/bash
# What each report takes for traces of 10 million records, alone: tests/bench/compare.
exec "$SOURCE/tests/bench/compare"
