#!/bin/sh
# kill200.sh: 200 rounds of kill -9 at random moments
ROUNDS=${ROUNDS:-200} WAIT_SECONDS=900 exec "${srcdir:-.}/tests/e2e/kill.sh"
