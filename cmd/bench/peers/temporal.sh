#!/bin/sh
# Temporal: its development server with a database file, and a worker that starts a workflow of one condition and one activity for each event.
# An event is acknowledged when the server has recorded the start of its workflow. The worker verifies the signature before it starts
# anything, and answers 401 where it is not right. EAGER=true, as temporal-eager.sh has it, lets the server hand workflows and activities to
# the worker that asks for them, without a queue in between.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=1.5.1 # go install refuses 1.9.1, which replaces a part of its module by a folder
cache=${XDG_CACHE_HOME:-$HOME/.cache}/quando-bench/temporal-$version

case $1 in
install)
	mkdir -p "$cache"
	[ -e "$cache/temporal" ] || GOBIN="$cache" go install -trimpath "github.com/temporalio/cli/cmd/temporal@v$version"
	cd "$here/temporal"
	go build -trimpath -o "$cache/worker" .
	;;
version) "$cache/temporal" --version | sed 's/.*(Server \([^,]*\),.*/\1/' ;;
path) echo /webhook ;;
run)
	folder=$2 server=$5
	export EAGER="${EAGER:-false}"
	export LISTEN="127.0.0.1:$3" SERVICE="$4" SECRET=bench-signing-secret TEMPORAL="127.0.0.1:$server" PARENT="$$"
	# The worker ends with the server, whose process this one becomes.
	"$cache/worker" &
	exec "$cache/temporal" server start-dev --ip 127.0.0.1 --port "$server" --http-port "$6" --metrics-port "$7" --headless --log-level warn \
		--db-filename "$folder/temporal.db" --sqlite-pragma journal_mode=WAL --sqlite-pragma synchronous=FULL \
		--dynamic-config-value system.enableActivityEagerExecution=$EAGER
	;;
esac
