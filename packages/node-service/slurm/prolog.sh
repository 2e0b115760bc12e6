#!/bin/sh
# Slurm's Prolog, as root on the node, before a job starts: a node whose boards are not as they should be takes no job. Slurm drains
# a node whose prolog fails.
exec pctodld ready
