import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PctodlError } from '@pctodl/platform'

const execute = promisify(execFile)

/** Runs a Slurm command within a time limit; see `slurm`. */
export type RunSlurm = (program: 'sbatch' | 'squeue' | 'scancel' | 'sinfo', args: readonly string[]) => Promise<string>

interface SlurmCommandOptions {
  /** Real time after which the command is killed, ms. Its request may have taken effect nevertheless. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /**
   * Time that the command may still run after the signal has aborted, ms, within `timeoutMs`. By default, the command
   * is killed at once.
   */
  readonly graceMs?: number
}

/**
 * Runs a Slurm command.
 *
 * @returns its output
 * @throws PctodlError `SLURM` with the command's error text or the fact that it timed out; the signal's reason if
 * aborted
 */
export async function slurm(
  program: Parameters<RunSlurm>[0],
  args: readonly string[],
  { timeoutMs, signal, graceMs }: SlurmCommandOptions,
): Promise<string> {
  const late = new AbortController()
  const running = execute(program, [...args], { signal: late.signal, maxBuffer: 64 * 1024 * 1024 })
  const end = () => {
    // The promise rejects at once; SIGKILL, because the command may ignore SIGTERM.
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
      : code === 'ENOENT' || code === 'EACCES'
        ? 'the command was not found; run this on a login node of the cluster'
        : stderr?.trim()
    throw new PctodlError('SLURM', `${program} ${args.join(' ')}: ${said || String(error)}`, { cause: error })
  } finally {
    for (const limit of limits) clearTimeout(limit)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Slurm ID of the job or array with this comment; undefined if Slurm knows no such job. */
export async function idOfComment(comment: string, run: RunSlurm): Promise<string | undefined> {
  const words = ['--noheader', '--states=all', `--user=${process.getuid?.() ?? ''}`, '--format=%F %k']
  return pairs(await run('squeue', words)).find(([, other]) => other === comment)?.[0]
}

/** Cancels or signals jobs. Jobs that have ended are ignored. */
export async function cancel(words: readonly string[], run: RunSlurm): Promise<void> {
  try {
    await run('scancel', words)
  } catch (error) {
    if (error instanceof PctodlError && /Invalid job id|already completing|completed|Job\/step/i.test(error.message))
      return
    throw error
  }
}

/** Parses lines that consist of a word and a rest. */
export function pairs(stdout: string): [string, string][] {
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => [line.split(' ')[0]!, line.slice(line.indexOf(' ') + 1).trim()])
}

/**
 * Parses the output of `sbatch --parsable`: `id`, or `id;cluster` on a federation.
 *
 * @throws PctodlError `SLURM_ANSWER` for any other output, because Slurm may have accepted a job whose ID is unknown
 */
export function parsedJobId(stdout: string): string {
  const id = /^(\d+)(;\S*)?$/.exec(stdout.trim())?.[1]
  if (id !== undefined) return id
  throw new PctodlError(
    'SLURM_ANSWER',
    `sbatch answered '${stdout.trim().slice(0, 200)}', expected the id of a job and nothing else, not even from a site's wrapper. ` +
      'Check squeue for what was submitted',
  )
}
