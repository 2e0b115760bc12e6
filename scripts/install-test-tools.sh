#!/usr/bin/env bash
# Debian packages that some tests use: a real Slurm and a real browser. Without them those tests say that they skip.
set -uo pipefail
missing=()
command -v slurmctld >/dev/null || missing+=(slurm-wlm munge)
command -v chromium >/dev/null || missing+=(chromium)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "not installed here: ${missing[*]}; the tests that need them will skip" >&2
  exit 0
fi
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
  echo "could not install ${missing[*]}; the tests that need them will skip" >&2
