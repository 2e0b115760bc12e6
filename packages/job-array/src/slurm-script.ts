import path from 'node:path'
import type { Job } from './job-array.js'

/**
 * The batch script of a job array: each element runs its own command and leaves the exit code in `exit/<mark>-<index>`, written
 * whole or not at all. It first claims that name in `claim`: of an array that was submitted twice each element
 * runs once, as the one that Slurm started first, again where Slurm puts that one back into the queue.
 */
export function arrayScript(jobs: readonly Job[], indices: readonly number[], workDir: string, mark: string): string {
  const cases = indices.map((index) => `  ${index}) (${shellExec(jobs[index]!.command)}) ;;`)
  const [claim, exitFile] = ['claim', 'exit'].map(
    (folder) => `${shellQuote(path.join(workDir, folder, mark))}-$SLURM_ARRAY_TASK_ID`,
  )
  return [
    '#!/bin/sh',
    // Written only where there is none yet.
    `(set -C; echo $SLURM_JOB_ID > ${claim}) 2>/dev/null || [ "$(cat ${claim})" = "$SLURM_JOB_ID" ] || {`,
    '  echo "not run: another job has run as this one" >&2; exit 75',
    '}',
    'case $SLURM_ARRAY_TASK_ID in',
    ...cases,
    '  *) echo "no such element: $SLURM_ARRAY_TASK_ID" >&2; false ;;',
    'esac',
    'code=$?',
    // A new file of a name that nobody can guess: `>` would follow a link that somebody has planted.
    `unfinished=$(mktemp ${exitFile}.XXXXXXXX) && echo $code > "$unfinished" && mv "$unfinished" ${exitFile}`,
    'exit $code',
    '',
  ].join('\n')
}

/** `[0, 1, 2, 5]` as `0-2,5`, as `sbatch --array` takes it. Indices ascend. */
export function compactIndices(indices: readonly number[]): string {
  const ranges: [first: number, last: number][] = []
  for (const index of indices) {
    const range = ranges.at(-1)
    if (range && range[1] === index - 1) range[1] = index
    else ranges.push([index, index])
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

/** A word that a POSIX shell takes as it stands. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Become a program: no word is taken for an assignment, a keyword, a builtin or a function of the shell. For a subshell. */
export function shellExec(command: readonly string[]): string {
  return `exec ${command.map(shellQuote).join(' ')}`
}

/** A path as `sbatch --output` takes it as it stands: `%` begins a pattern there. */
export function outputPath(file: string): string {
  return file.replaceAll('%', '%%')
}
