#!/usr/bin/env bash
# Installs Debian packages that some tests use: a C compiler, Slurm and a browser. Users other than root need sudo. Exits with 1 if
# one of them is missing afterwards, because the tests would then pass without having tested anything.
set -euo pipefail
missing=()
command -v cc >/dev/null || missing+=(gcc libc6-dev)
command -v slurmctld >/dev/null || missing+=(slurm-wlm munge)
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
[ ${#missing[@]} -eq 0 ] && exit 0
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo --non-interactive)
fi
if ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]}; there is no apt-get here, so install them another way" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ] && ! sudo --non-interactive true 2>/dev/null; then
  echo "missing: ${missing[*]}; run this as root, or as a user whose sudo asks for no password" >&2
  exit 1
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
