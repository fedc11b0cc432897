#!/bin/sh
# Before the package goes: not when another version takes its place, which postinstall restarts.
set -e
case "$1" in
remove | 0) if [ -d /run/systemd/system ]; then systemctl disable --now quando.service || true; fi ;;
esac
