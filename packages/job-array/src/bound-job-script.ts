import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'
import { shellExec, shellQuote } from './slurm-script.js'

export interface BoundJobFiles {
  readonly started: string
  readonly exit: string
  /** A folder that only the first who makes it may go on with: a job that was submitted twice runs once. */
  readonly claim: string
}

/**
 * The batch script of a job that may be signalled. It says when it started and what binds it, lets signals pass to the command
 * (the shell itself only notes them), and leaves the exit code. Both files are written whole or not at all. The environment is the
 * command's alone: the script's own programs are found and its variables kept whatever it says.
 *
 * What binds: the CPUs that the process may use, and the least memory limit of its cgroup and those above it, `none` where there
 * is none. Version 2 of cgroups is asked first, then version 1.
 */
export function boundJobScript(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  files: BoundJobFiles,
): string {
  const exports = Object.entries(environment).map(([name, value]) => {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      throw new InvalidInputError('environment', name, 'names of letters, digits and "_" that begin with no digit')
    }
    return `  export ${name}=${shellQuote(value)}`
  })
  return [
    '#!/bin/sh',
    `mkdir ${shellQuote(path.resolve(files.claim))} || { echo "not run: another job has run as this one" >&2; exit 75; }`,
    'trap : USR1 USR2 TERM INT',
    'look() {',
    '  at=$2',
    '  while [ -n "$at" ] && [ "$at" != / ] && [ "$at" != . ]; do',
    '    limit=$(cat "$1$at/$3" 2>/dev/null || echo max)',
    // Version 1 says "no limit" by a number near 2^63.
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

/** A new file of a name that nobody can guess, then renamed: `>` would follow a link that somebody has planted. */
function leave(text: string, file: string): string[] {
  const name = shellQuote(path.resolve(file))
  return [`(unfinished=$(mktemp ${name}.XXXXXXXX) && echo ${text} > "$unfinished" && mv "$unfinished" ${name})`]
}
