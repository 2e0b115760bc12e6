import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PctodlError } from '@pctodl/platform'

const execute = promisify(execFile)

/** Runs one of Slurm's own commands within a time limit; see `slurm`. */
export type RunSlurm = (program: 'sbatch' | 'squeue' | 'scancel' | 'sinfo', args: readonly string[]) => Promise<string>

interface SlurmCommandOptions {
  /** Killed after so much real time, ms: what it was asked for may have been done all the same. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** How long it may still take after the abort, ms; the limit holds in any case. Without it the command ends with the abort. */
  readonly graceMs?: number
}

/**
 * Run one of Slurm's own commands.
 *
 * @returns what it printed
 * @throws PctodlError `SLURM` with what it said, or that it said nothing in its time; the signal's reason where that ends it
 */
export async function slurm(
  program: Parameters<RunSlurm>[0],
  args: readonly string[],
  { timeoutMs, signal, graceMs }: SlurmCommandOptions,
): Promise<string> {
  const late = new AbortController()
  const running = execute(program, [...args], { signal: late.signal, maxBuffer: 64 * 1024 * 1024 })
  const end = () => {
    // Nobody waits for it any more, and it may not heed SIGTERM.
    late.abort()
    running.child.kill('SIGKILL')
  }
  const limits = [setTimeout(end, timeoutMs)]
  const onAbort = () => limits.push(setTimeout(end, graceMs ?? 0))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return (await running).stdout
  } catch (error) {
    if (graceMs === undefined) signal?.throwIfAborted()
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: string }
    const said = late.signal.aborted
      ? 'did not answer in its time, and was killed'
      : code === 'ENOENT'
        ? 'the command was not found; run this on a login node of the cluster'
        : stderr?.trim()
    throw new PctodlError('SLURM', `${program} ${args.join(' ')}: ${said || String(error)}`, { cause: error })
  } finally {
    for (const limit of limits) clearTimeout(limit)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Slurm's id of the job or array that carries a comment; undefined where it knows none. */
export async function idOfComment(comment: string, run: RunSlurm): Promise<string | undefined> {
  const words = ['--noheader', '--states=all', `--user=${process.getuid?.() ?? ''}`, '--format=%F %k']
  return pairs(await run('squeue', words)).find(([, other]) => other === comment)?.[0]
}

/** End or signal jobs; those that have ended are left out. */
export async function cancel(words: readonly string[], run: RunSlurm): Promise<void> {
  try {
    await run('scancel', words)
  } catch (error) {
    if (error instanceof PctodlError && /Invalid job id|already completing|completed|Job\/step/i.test(error.message))
      return
    throw error
  }
}

/** Lines of two words. */
export function pairs(stdout: string): [string, string][] {
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => [line.split(' ')[0]!, line.slice(line.indexOf(' ') + 1).trim()])
}

/**
 * `sbatch --parsable` prints `id` or, on a federation, `id;cluster`.
 *
 * @throws PctodlError `SLURM_ANSWER` for anything else: a job may have been taken, of which nobody knows the id
 */
export function parsedJobId(stdout: string): string {
  const id = /^(\d+)(;\S*)?$/.exec(stdout.trim())?.[1]
  if (id !== undefined) return id
  throw new PctodlError(
    'SLURM_ANSWER',
    `sbatch answered '${stdout.trim().slice(0, 200)}', expected the id of a job; nothing may be printed beside it, by a site's wrapper either. ` +
      'See in squeue what it has taken',
  )
}
