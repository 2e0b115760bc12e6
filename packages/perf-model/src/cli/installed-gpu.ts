import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PctodlError } from '@pctodl/platform'

const TIMEOUT_MS = 10_000

/**
 * Query `nvidia-smi` for one property of the first GPU.
 *
 * @param remedy advice for the user, appended to the error message
 * @throws PctodlError `NO_GPU` if there is no answer
 */
export async function askInstalledGpu(
  property: 'name' | 'clocks.mem',
  remedy: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    const args = [`--query-gpu=${property}`, '--format=csv,noheader,nounits', '--id=0']
    const { stdout } = await promisify(execFile)('nvidia-smi', args, { timeout: TIMEOUT_MS, signal })
    const answer = stdout.trim()
    if (answer !== '' && !answer.startsWith('[')) return answer
    throw new Error(`nvidia-smi answered '${answer}'`)
  } catch (cause) {
    signal.throwIfAborted()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new PctodlError('NO_GPU', `cannot ask the GPU for its ${property} (${reason}); ${remedy}`, { cause })
  }
}
