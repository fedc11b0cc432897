#!/bin/sh
# Benthos, the engine of Redpanda Connect: http_server, a mapping that verifies the signature, one of the condition, http_client. An event is
# acknowledged when the call was answered, and nothing is kept on disk. What is not signed right is answered with 401 and dropped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=4.80.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/quando-bench/benthos-$version

case $1 in
install)
	mkdir -p "$cache"
	cd "$here/benthos"
	go build -trimpath -o "$cache/benthos" .
	;;
version) "$cache/benthos" --version | sed -n 's/^Version: v//p' ;;
path) echo /webhook ;;
run)
	export PORT="$3" SERVICE="$4" SECRET=bench-signing-secret
	exec "$cache/benthos" run "$here/benthos/config.yaml"
	;;
esac
