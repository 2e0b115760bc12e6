import { type Clock, InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'

/** Time for which Slurm may stay silent until it is given up, ms: a controller takes minutes to come back. */
const LONGEST_SILENCE_MS = 30 * 60_000
/** Between two tries at most, ms. */
const LONGEST_WAIT_MS = 60_000

/** That Slurm could not be asked, or can be again. */
export interface SlurmSilence {
  /** What its command said; null: it answers again. */
  readonly error: PctodlError | null
  /** Since the first time that it failed, ms. */
  readonly forMs: number
  /** Until it is tried again, ms. */
  readonly againInMs: number
}

/** A line for whoever waits. */
export function silenceLine({ error, forMs, againInMs }: SlurmSilence): string {
  return error === null
    ? `Slurm answers again after ${(forMs / 1000).toFixed(1)} s\n`
    : `Slurm does not answer, asked again in ${againInMs / 1000} s: ${error.message}\n`
}

export interface SlurmPatienceOptions {
  /** Time between looks, ms; after failures twice as long each time, up to a minute. Default 1000. */
  readonly pollMs?: number
  /** How long Slurm may fail to answer, until it is an error that leaves the jobs as they are, ms. Default 30 minutes. */
  readonly longestSilenceMs?: number
  /** Told each time that Slurm could not be asked, and when it answers again. */
  readonly onSilence?: (silence: SlurmSilence) => void
  readonly clock?: Clock
}

/** Whether Slurm could not be asked, and may answer when asked again: not where the command is missing. */
function isSlurmFailure(error: unknown): error is PctodlError {
  return (
    error instanceof PctodlError &&
    error.code === 'SLURM' &&
    (error.cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT'
  )
}

/** Whether what failed is the way to Slurm's controller, and not what was asked of it; `squeue` only asks. */
function isUnreached(error: unknown): error is PctodlError {
  return (
    isSlurmFailure(error) &&
    /^squeue |Unable to contact|Socket timed out|Connection (refused|reset|timed out)|Transport|Zero Bytes|temporarily unable|slurm_receive_msg/i.test(
      error.message,
    )
  )
}

/** Asks Slurm again where it does not answer, less and less often, and gives it up after a stated time. */
export class SlurmPatience {
  readonly #options: SlurmPatienceOptions
  readonly #clock: Clock
  readonly #longestMs: number
  readonly #open: () => readonly string[]
  #silentFromMs: number | undefined
  #waitMs = 0
  #againAtMs = Number.NEGATIVE_INFINITY

  /**
   * @param open jobs that are left as they are where Slurm is given up
   * @throws InvalidInputError
   */
  constructor(options: SlurmPatienceOptions, open: () => readonly string[] = () => []) {
    const { longestSilenceMs = LONGEST_SILENCE_MS, clock = systemClock } = options
    if (!(longestSilenceMs >= 0)) {
      throw new InvalidInputError('longestSilenceMs', longestSilenceMs, 'milliseconds of at least 0')
    }
    this.#options = options
    this.#clock = clock
    this.#longestMs = longestSilenceMs
    this.#open = open
  }

  /**
   * Ask once, where the time for it has come.
   *
   * @returns null where Slurm was not or could not be asked
   * @throws PctodlError `SLURM_UNREACHABLE` after too long a silence; what else the question throws
   */
  async ask<T>(question: () => Promise<T>): Promise<T | null> {
    if (this.#clock.now() < this.#againAtMs) return null
    try {
      return this.#answered(await question())
    } catch (error) {
      if (!isSlurmFailure(error)) throw error
      this.#failed(error, this.#longestMs)
      return null
    }
  }

  /**
   * Do what may be done twice until it succeeds, while Slurm's controller is not reached.
   *
   * @param mostMs a shorter silence than that of the options
   * @throws as `ask`; the signal's reason
   */
  async untilReached<T>(
    what: (attempt: number) => Promise<T>,
    signal?: AbortSignal,
    mostMs: number = this.#longestMs,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return this.#answered(await what(attempt))
      } catch (error) {
        if (!isUnreached(error)) throw error
        this.#failed(error, Math.min(mostMs, this.#longestMs))
      }
      await this.#clock.sleep(this.#waitMs, signal)
    }
  }

  #answered<T>(answer: T): T {
    if (this.#silentFromMs !== undefined) {
      const forMs = this.#clock.now() - this.#silentFromMs
      this.#options.onSilence?.({ error: null, forMs, againInMs: 0 })
    }
    this.#silentFromMs = undefined
    this.#waitMs = 0
    this.#againAtMs = Number.NEGATIVE_INFINITY
    return answer
  }

  #failed(error: PctodlError, longestMs: number): void {
    const nowMs = this.#clock.now()
    this.#silentFromMs ??= nowMs
    const forMs = nowMs - this.#silentFromMs
    if (forMs >= longestMs) throw givenUp(error, forMs, this.#open())
    this.#waitMs = Math.min(
      LONGEST_WAIT_MS,
      longestMs - forMs,
      Math.max(this.#options.pollMs ?? 1000, 2 * this.#waitMs),
    )
    this.#againAtMs = nowMs + this.#waitMs
    this.#options.onSilence?.({ error, forMs, againInMs: this.#waitMs })
  }
}

function givenUp(cause: PctodlError, forMs: number, jobs: readonly string[]): PctodlError {
  const shown = `${jobs.slice(0, 20).join(', ')}${jobs.length > 20 ? ', ...' : ''}`
  const left = jobs.length === 0 ? 'whatever runs was left as it is' : `its jobs ${shown} were left as they are`
  return new PctodlError(
    'SLURM_UNREACHABLE',
    `Slurm could not be asked for ${(forMs / 1000).toFixed(0)} s; ${left}: call again with the same folder when it answers, ` +
      `or end them with scancel. The last time: ${cause.message}`,
    { cause },
  )
}
