#!/bin/sh
# Profile resnet50 and mobilenet_v2 on this machine's GPU: shares, batches and 1 to 5 tenants under MPS, clocks left alone.
# Needs the NVIDIA driver with its MPS daemon, Python with PyTorch and torchvision, and what pack.mjs carried here; no network.
#
#   carried/profile.sh FOLDER [NETWORK ...]
#
# Writes FOLDER/NETWORK.csv and its manifest. Interrupted, it goes on where it was when it is called again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?name the folder to write to}
shift
[ $# -gt 0 ] || set -- resnet50 mobilenet_v2

node=${PCTODL_NODE:-}
if [ -z "$node" ]; then
  node=$here/node
  [ -x "$node" ] || { xz -dk "$here/node.xz" 2>/dev/null || python3 -c "
import lzma, shutil, sys
with lzma.open(sys.argv[1]) as packed, open(sys.argv[2], 'wb') as out:
    shutil.copyfileobj(packed, out)" "$here/node.xz" "$node"; chmod 755 "$node"; }
fi

mkdir -p "$folder"
status=0
for network in "$@"; do
  "$node" "$here/programs/measure-piece.js" \
    --backend nvml --gpu "${PCTODL_GPU:-0}" --worker "${PCTODL_WORKER:-torch}" \
    --models "$network" --matrix "${PCTODL_MATRIX:-$here/matrix.json}" --no-sudo \
    --out "$folder/$network.csv" --resume || status=$?
done
exit $status
