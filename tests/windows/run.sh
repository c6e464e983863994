#!/usr/bin/env bash
# Runs Windows' Python of `setup.sh` in the folder $1 for at most $2 seconds, with the other arguments.
# Wine wants no terminal and no file, and what a process leaves behind would hold the pipe open.
folder=$1 seconds=$2
shift 2
export WINEDEBUG=-all WINEPREFIX=$folder/prefix PYTHONUTF8=1
cd "$folder/python" || exit 1
set -o pipefail
timeout --kill-after 5 "$seconds" wine python.exe "$@" </dev/null 2>&1 | timeout "$((seconds + 10))" cat
