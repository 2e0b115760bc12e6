import { type Clock, PctodlError } from '@pctodl/platform'

/** How often a question to Slurm may fail in a row, some seconds apart, until it is given up: a controller takes minutes to come back. */
const MOST_FAILURES = 120
/** How often a command is tried that changes something. */
const MOST_TRIES = 5

/** Whether Slurm could not be asked, and may answer when asked again: not where the command is missing. */
function isSlurmFailure(error: unknown): error is PctodlError {
  return (
    error instanceof PctodlError &&
    error.code === 'SLURM' &&
    (error.cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT'
  )
}

/** Whether what failed is the way to Slurm's controller, and not what was asked of it. */
function isUnreached(error: unknown): boolean {
  return (
    isSlurmFailure(error) &&
    /Unable to contact|Socket timed out|Connection (refused|reset|timed out)|Transport|Zero Bytes|temporarily unable|slurm_receive_msg/i.test(
      error.message,
    )
  )
}

/** Counts how often questions that are asked again and again fail in a row. */
export class SlurmPatience {
  readonly #most: number
  #failures = 0

  constructor(most: number = MOST_FAILURES) {
    this.#most = most
  }

  /**
   * @param open what is left as it is where Slurm is given up
   * @returns null where Slurm could not be asked this time
   * @throws PctodlError `SLURM_UNREACHABLE` after too many times; what else the question throws
   */
  async ask<T>(question: () => Promise<T>, open: () => readonly string[]): Promise<T | null> {
    try {
      const answer = await question()
      this.#failures = 0
      return answer
    } catch (error) {
      if (!isSlurmFailure(error)) throw error
      this.#failures++
      if (this.#failures < this.#most) return null
      const jobs = open()
      const shown = `${jobs.slice(0, 20).join(', ')}${jobs.length > 20 ? ', ...' : ''}`
      throw new PctodlError(
        'SLURM_UNREACHABLE',
        `Slurm could not be asked ${this.#failures} times in a row; its jobs ${shown} were left as they are: ` +
          `call again with the same folder when it answers, or end them with scancel. The last time: ${error.message}`,
        { cause: error },
      )
    }
  }
}

/** Do what may be done twice until it succeeds, while Slurm's controller is not reached. @throws what it throws the last time */
export async function untilReached<T>(
  what: (attempt: number) => Promise<T>,
  clock: Clock,
  pauseMs: number,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await what(attempt)
    } catch (error) {
      if (attempt >= MOST_TRIES || !isUnreached(error)) throw error
      await clock.sleep(pauseMs, signal)
    }
  }
}
