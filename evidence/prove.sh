#!/bin/sh
# Measure this machine's GPU, predict what was not measured, and write the errors with all rows. Needs the NVIDIA driver, its MPS
# daemon, Python with PyTorch, and what pack.mjs carried here; no network and no rights. What is missing is left out and named.
#
#   carried/prove.sh FOLDER [OPTION ...]
#
# Ends after nine minutes; call it again, with the same words, until it says that nothing is left.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?name the folder to write to}
shift

node=${PCTODL_NODE:-}
if [ -z "$node" ]; then
  node=$here/node
  [ -x "$node" ] || { xz -dk "$here/node.xz" 2>/dev/null || python3 -c "
import lzma, shutil, sys
with lzma.open(sys.argv[1]) as packed, open(sys.argv[2], 'wb') as out:
    shutil.copyfileobj(packed, out)" "$here/node.xz" "$node"; chmod 755 "$node"; }
fi

exec "$node" "$here/programs/prove.js" --backend nvml --out "$folder" "$@"
