import path from 'node:path'
import type { Job } from './job-array.js'

/**
 * Batch script of a job array: each element runs its own command and atomically writes its exit code to
 * `exit/<mark>-<index>`. It first claims that name in `claim`, so an element submitted twice runs once, under the
 * submission that Slurm starts first. If Slurm requeues that one, it runs again.
 */
export function arrayScript(jobs: readonly Job[], indices: readonly number[], workDir: string, mark: string): string {
  const cases = indices.map((index) => `  ${index}) (${shellExec(jobs[index]!.command)}) ;;`)
  const [claim, exitFile] = ['claim', 'exit'].map(
    (folder) => `${shellQuote(path.join(workDir, folder, mark))}-$SLURM_ARRAY_TASK_ID`,
  )
  return [
    '#!/bin/sh',
    // Written only if absent.
    `(set -C; echo $SLURM_JOB_ID > ${claim}) 2>/dev/null || [ "$(cat ${claim})" = "$SLURM_JOB_ID" ] || {`,
    '  echo "not run: this job has run already" >&2; exit 75',
    '}',
    'case $SLURM_ARRAY_TASK_ID in',
    ...cases,
    '  *) echo "no such element: $SLURM_ARRAY_TASK_ID" >&2; false ;;',
    'esac',
    'code=$?',
    // An unpredictable new name: `>` would follow a symlink planted by someone else.
    `unfinished=$(mktemp ${exitFile}.XXXXXXXX) && echo $code > "$unfinished" && mv "$unfinished" ${exitFile}`,
    'exit $code',
    '',
  ].join('\n')
}

/** `[0, 1, 2, 5]` as `0-2,5`, the syntax of `sbatch --array`. Indices must ascend. */
export function compactIndices(indices: readonly number[]): string {
  const ranges: [first: number, last: number][] = []
  for (const index of indices) {
    const range = ranges.at(-1)
    if (range && range[1] === index - 1) range[1] = index
    else ranges.push([index, index])
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

/** Quote a word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/**
 * Exec the program literally: no word is read as an assignment, keyword, builtin or shell function. For a subshell.
 */
export function shellExec(command: readonly string[]): string {
  return `exec ${command.map(shellQuote).join(' ')}`
}

/** Escape a path for `sbatch --output`, where `%` begins a pattern. */
export function outputPath(file: string): string {
  return file.replaceAll('%', '%%')
}
