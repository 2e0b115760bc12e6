import path from 'node:path'
import { given } from '@pctodl/platform'
import type { Job } from './job-array.js'

/**
 * Batch script of a job array. Each element runs its own command and writes its exit code atomically to
 * `exit/<mark>-<index>`. Before that, it creates a file of the same name in `claim`. If an element was submitted twice,
 * only the submission that creates this file runs; if Slurm requeues that submission, it runs again.
 */
export function arrayScript(jobs: readonly Job[], indices: readonly number[], workDir: string, mark: string): string {
  const cases = indices.map((index) => `  ${index}) (${shellExec(jobs[index]!.command)}) ;;`)
  const [claim, exitFile] = ['claim', 'exit'].map(
    (folder) => `${shellQuote(path.join(workDir, folder, mark))}-$SLURM_ARRAY_TASK_ID`,
  )
  return [
    '#!/bin/sh',
    // `set -C` lets the shell create the file only if it does not exist.
    `(set -C; echo $SLURM_JOB_ID > ${claim}) 2>/dev/null || [ "$(cat ${claim})" = "$SLURM_JOB_ID" ] || {`,
    '  echo "not run: this job has run already" >&2; exit 75',
    '}',
    'case $SLURM_ARRAY_TASK_ID in',
    ...cases,
    '  *) echo "no such element: $SLURM_ARRAY_TASK_ID" >&2; false ;;',
    'esac',
    'code=$?',
    // A new unpredictable name, because `>` would follow a symlink planted by another user.
    `unfinished=$(mktemp ${exitFile}.XXXXXXXX) && echo $code > "$unfinished" && mv "$unfinished" ${exitFile}`,
    'exit $code',
    '',
  ].join('\n')
}

/** Formats ascending indices for `sbatch --array`: `[0, 1, 2, 5]` becomes `0-2,5`. */
export function compactIndices(indices: readonly number[]): string {
  const ranges: [first: number, last: number][] = []
  for (const index of indices) {
    const range = ranges.at(-1)
    if (range && range[1] === index - 1) range[1] = index
    else ranges.push([index, index])
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',')
}

/** Quotes a word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/**
 * Shell command, for a subshell, that executes a program with exactly these words. The shell reads none of them as an
 * assignment, keyword, builtin or function.
 */
export function shellExec(command: readonly string[]): string {
  return `exec ${command.map(shellQuote).join(' ')}`
}

/** Escapes a path for `sbatch --output`, in which `%` begins a pattern. */
export function outputPath(file: string): string {
  return file.replaceAll('%', '%%')
}

/** Returns the words of the options of sbatch that are given. */
export function sbatchOptions(options: Readonly<Record<string, string | number | undefined>>): string[] {
  return Object.entries(given(options)).map(([name, value]) => `--${name}=${value}`)
}
