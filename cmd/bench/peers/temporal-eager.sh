#!/bin/sh
# Temporal once more, with what its documentation offers where a start must be fast: see temporal.sh.
set -eu
EAGER=true exec sh "$(dirname "$0")/temporal.sh" "$@"
