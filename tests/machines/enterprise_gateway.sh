#!/usr/bin/env bash
# Enterprise Gateway in the folder $1: an environment of its own, and its launcher, which only its source archive has.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/enterprise_gateway.txt
package=$(grep '^jupyter-enterprise-gateway==' "$requirements")

uv venv --python 3.11 "$1"  # for later ones its pyzmq has no wheel
uv pip install --no-config --python "$1/bin/python" --requirement "$requirements"
archives=$(mktemp -d)
trap 'rm -r "$archives"' EXIT
python3 -m pip download --no-deps --no-binary "${package%%=*}" --dest "$archives" "$package"
tar -xzf "$archives"/*.tar.gz --directory "$1" --strip-components 5 --wildcards '*/python/scripts/launch_ipykernel.py'
