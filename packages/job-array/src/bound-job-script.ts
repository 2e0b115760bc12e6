import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { shellExec, shellQuote } from './slurm-script.js'

export interface BoundJobFiles {
  readonly started: string
  readonly exit: string
  /**
   * Folder that claims the job: only the process that creates it runs the command, so a job submitted twice runs once.
   */
  readonly claim: string
}

/**
 * Batch script of a job that may be signalled. It records the start of the job and its limits, passes signals to the
 * command, and records the exit code. Both records are written atomically. The environment applies only to the command:
 * it affects neither the programs that the script calls nor the script's variables.
 *
 * Recorded limits: the number of CPUs that the process may use, and the smallest memory limit of its cgroup and the
 * cgroups above it (`none` if unlimited). The script reads cgroup v2 first, then v1.
 */
export function boundJobScript(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  files: BoundJobFiles,
): string {
  const exports = Object.entries(environment).map(([name, value]) => {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      throw new InvalidInputError(
        'environment',
        name,
        'names of letters, digits and "_" that do not begin with a digit',
      )
    }
    return `  export ${name}=${shellQuote(value)}`
  })
  return [
    '#!/bin/sh',
    `mkdir ${shellQuote(path.resolve(files.claim))} || { echo "not run: this job has run already" >&2; exit 75; }`,
    'trap : USR1 USR2 TERM INT',
    'look() {',
    '  at=$2',
    '  while [ -n "$at" ] && [ "$at" != / ] && [ "$at" != . ]; do',
    '    limit=$(cat "$1$at/$3" 2>/dev/null || echo max)',
    // cgroup v1 reports "no limit" as a number near 2^63.
    '    if [ "$limit" != max ] && [ "$(printf %s "$limit" | wc -c)" -lt 17 ]; then',
    '      if [ $least = none ] || [ "$limit" -lt "$least" ]; then least=$limit; fi',
    '    fi',
    '    at=$(dirname "$at")',
    '  done',
    '}',
    'binds() {',
    '  least=none',
    '  look /sys/fs/cgroup "$(sed -n \'s/^0:://p\' /proc/self/cgroup 2>/dev/null)" memory.max',
    '  look /sys/fs/cgroup/memory "$(sed -n \'s/^[0-9]*:memory://p\' /proc/self/cgroup 2>/dev/null)" memory.limit_in_bytes',
    '  echo $least',
    '}',
    ...leave('"$(date +%s.%N) $(nproc) $(binds) $SLURM_JOB_ID"', files.started),
    '(',
    ...exports,
    `  ${shellExec(command)}`,
    ')',
    'code=$?',
    ...leave('"$(date +%s.%N) $code"', files.exit),
    'exit $code',
    '',
  ].join('\n')
}

/** Writes to a new unpredictable name, then renames the file: `>` would follow a symlink planted by another user. */
function leave(text: string, file: string): string[] {
  const name = shellQuote(path.resolve(file))
  return [`(unfinished=$(mktemp ${name}.XXXXXXXX) && echo ${text} > "$unfinished" && mv "$unfinished" ${name})`]
}
