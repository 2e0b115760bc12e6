import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PctodlError } from '@pctodl/platform'

const execute = promisify(execFile)

/**
 * Run one of Slurm's own commands.
 *
 * @returns what it printed
 * @throws PctodlError `SLURM` with what it said; the signal's reason when that is aborted
 */
export async function slurm(
  program: 'sbatch' | 'squeue' | 'scancel' | 'sinfo',
  args: readonly string[],
  signal?: AbortSignal,
): Promise<string> {
  try {
    const { stdout } = await execute(program, [...args], { ...(signal ? { signal } : {}), maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    signal?.throwIfAborted()
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: string }
    const said =
      code === 'ENOENT' ? 'the command was not found; run this on a login node of the cluster' : stderr?.trim()
    throw new PctodlError('SLURM', `${program} ${args.join(' ')}: ${said || String(error)}`, { cause: error })
  }
}

/** Slurm's id of the job or array that carries a comment; undefined where it knows none. */
export async function idOfComment(comment: string): Promise<string | undefined> {
  const words = ['--noheader', '--states=all', `--user=${process.getuid?.() ?? ''}`, '--format=%F %k']
  return pairs(await slurm('squeue', words)).find(([, other]) => other === comment)?.[0]
}

/** Lines of two words. */
export function pairs(stdout: string): [string, string][] {
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => [line.split(' ')[0]!, line.slice(line.indexOf(' ') + 1).trim()])
}

/** `sbatch --parsable` prints `id` or, on a federation, `id;cluster`. */
export function parsedJobId(stdout: string): string {
  return stdout.trim().split(';')[0]!
}
