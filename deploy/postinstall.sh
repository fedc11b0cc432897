#!/bin/sh
# After the package is there: the user that the unit runs as. Nothing is started before somebody has written a configuration.
set -e
if command -v systemd-sysusers > /dev/null; then systemd-sysusers quando.conf; fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart quando.service || true
fi
