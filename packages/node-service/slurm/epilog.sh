#!/bin/sh
# Slurm's Epilog, as root on the node, after a job has ended: whatever its processes did, leases of its user end, and the boards are
# as they were. Where a user may have several jobs on one node, only those of the job's boards end.
set -eu
# By itself, so that it fails the epilog, and Slurm drains the node: the end of a pipe would hide that.
all=$(nvidia-smi --query-gpu=index,uuid --format=csv,noheader)
boards=$(printf '%s\n' "$all" | awk -F', ' -v job="${SLURM_JOB_GPUS:-}" '
    BEGIN { count = split(job, list, ","); for (i = 1; i <= count; i++) of_job[list[i]] = 1 }
    $1 in of_job { printf "%s%s", comma, $2; comma = "," }')
# A job without boards has leased none.
[ -n "$boards" ] || exit 0
exec pctodld end-leases --uid "$SLURM_JOB_UID" --boards "$boards"
