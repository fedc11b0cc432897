#!/bin/bash
# Makes a journal with the program as it was at a commit: finished runs, one that waits, and an event that is not decided on.
# It writes NAME.db.gz, and NAME.json with what the service of its story knows; with the address of an empty PostgreSQL database also NAME.sql.
# Usage: make.sh COMMIT NAME [postgres://...]
set -euo pipefail
commit=$1 name=$2 database=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cleanup() {
	kill "${engine:-}" "${sandbox:-}" 2>/dev/null || true
	git -C "$here" worktree remove --force "$work/source" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
git -C "$here" worktree add --detach "$work/source" "$commit" >/dev/null 2>&1
(cd "$work/source" && go build -trimpath -o "$work/quando" ./cmd/quando)
cd "$work"
mkdir rules && cp "$here/rules.yaml" rules/
./quando sandbox --listen 127.0.0.1:0 --allow-loopback --seed 7 >sandbox.json &
sandbox=$!
until [ -s sandbox.json ]; do sleep 0.1; done
field() { sed -E "s/.*\"$1\":\"([^\"]*)\".*/\1/" "${2:-sandbox.json}"; }
base=$(field base_url) key=$(field api_key) control=$(field control_url)
curl -sf -X POST "$base/integrations/webhooks" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
	-d '{"name":"quando","url":"http://127.0.0.1:38471/webhook","events":["message.received","attendance.opened"]}' >hook.json
printf 'service: { base_url: "%s", api_key: "%s", webhook: { secrets: ["%s"] } }\nlisten: "127.0.0.1:38471"\nconsole: { listen: "127.0.0.1:38472" }\n' "$base" "$key" "$(field secret hook.json)" >quando.yaml
./quando run 2>log &
engine=$!
until curl -sf http://127.0.0.1:38471/readyz >/dev/null; do sleep 0.1; done
write() { curl -sf -X POST "$control/customers/message" -d "{\"phone\":\"$1\",\"name\":\"$2\",\"text\":\"$3\"}" >/dev/null; }
write +5511988880001 Ana "good morning"
shows() { [[ $(./quando "${@:2}" 2>&1) == *"$1"* ]]; }
until shows hello runs --state done && shows later runs --state waiting; do sleep 0.1; done
./quando pause >/dev/null
sleep 2 # until the engine has heard of it
write +5511988880001 Ana "are you there?"
until shows "not decided yet" events --type message.received; do sleep 0.1; done
kill "$engine" && wait "$engine"
curl -sf "$control/state" >"$here/$name.json"
./quando resume >/dev/null
gzip -9 -n <quando.db >"$here/$name.db.gz"
if [ -n "$database" ]; then
	./quando journal copy quando.db "$database" >/dev/null 2>&1
	"$(pg_config --bindir)/pg_dump" --schema=quando --inserts --no-owner --no-privileges "$database" | grep -vE '^(--|SET |SELECT pg_catalog.set_config|\\|$)' >"$here/$name.sql"
fi
ls -l "$here/$name".*
