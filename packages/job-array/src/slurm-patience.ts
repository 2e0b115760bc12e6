import { type Clock, InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import { type RunSlurm, slurm } from './slurm-command.js'

/** If Slurm does not answer for this time, the caller gives up, ms. A restarting controller takes minutes. */
const LONGEST_SILENCE_MS = 30 * 60_000
/** Maximum time between retries, ms. */
const LONGEST_WAIT_MS = 60_000
/**
 * Time limit of one Slurm command, ms. By default, the command itself waits 10 s for the controller, and some commands
 * ask it several times.
 */
const LONGEST_COMMAND_MS = 60_000
/** Time that clean-up waits for Slurm, ms. It is short because the user wants to stop. */
export const LONGEST_END_MS = 10_000

/** Reported when Slurm does not answer, and when it answers again. */
export interface SlurmSilence {
  /** Error of the command; null if Slurm answers again. */
  readonly error: PctodlError | null
  /** Time since the first failure, ms. */
  readonly forMs: number
  /** Time until the next retry, ms. */
  readonly againInMs: number
}

/** Status line for the user. */
export function silenceLine({ error, forMs, againInMs }: SlurmSilence): string {
  return error === null
    ? `Slurm answers again after ${(forMs / 1000).toFixed(1)} s\n`
    : `Slurm does not answer, next try in ${againInMs / 1000} s: ${error.message}\n`
}

export interface SlurmPatienceOptions {
  /** Time between polls, ms; at least 1. It doubles after each failure, up to a minute. Default 1000. */
  readonly pollMs?: number
  /**
   * Time for which Slurm may not answer, ms. After it, an error is thrown and the jobs are left running. Default 30
   * minutes.
   */
  readonly longestSilenceMs?: number
  /**
   * Real time limit of a Slurm command, ms. A slower command is killed and counts as not answered. Default one minute.
   */
  readonly commandTimeoutMs?: number
  /** Called after each failed query, and when Slurm answers again. */
  readonly onSilence?: (silence: SlurmSilence) => void
  readonly clock?: Clock
}

/** Whether Slurm failed in a way that a retry may solve. A missing command is not such a failure. */
function isSlurmFailure(error: unknown): error is PctodlError {
  return (
    error instanceof PctodlError &&
    error.code === 'SLURM' &&
    !['ENOENT', 'EACCES'].includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '')
  )
}

/**
 * Whether Slurm's controller was not reached, so that a retry is safe. Every failure of `squeue` counts, because it
 * only reads.
 */
function isUnreached(error: unknown): error is PctodlError {
  if (!isSlurmFailure(error)) return false
  // Only Slurm's own message is searched: the command line may contain a folder of any name.
  const { name, stderr } = error.cause as { readonly name?: string; readonly stderr?: string }
  return (
    error.message.startsWith('squeue ') ||
    name === 'AbortError' ||
    /Unable to contact|Socket timed out|Connection (refused|reset|timed out)|Transport|Zero Bytes|temporarily unable|slurm_receive_msg/i.test(
      stderr ?? '',
    )
  )
}

/** Time since which a query has had no answer, and time of the next retry. */
interface Silence {
  readonly fromMs: number
  readonly waitMs: number
  readonly againAtMs: number
}

/** Retries unanswered Slurm queries with increasing delays, and gives up after `longestSilenceMs`. */
export class SlurmPatience {
  readonly #options: SlurmPatienceOptions
  readonly #clock: Clock
  readonly #longestMs: number
  readonly #pollMs: number
  readonly #commandMs: number
  readonly #open: () => readonly string[]
  #silence: Silence | undefined
  /** Whether the last query of any kind failed. */
  #isSilent = false

  /**
   * @param open Slurm IDs of the jobs that keep running if the caller gives up
   * @throws InvalidInputError
   */
  constructor(options: SlurmPatienceOptions, open: () => readonly string[] = () => []) {
    const { longestSilenceMs = LONGEST_SILENCE_MS, pollMs = 1000, clock = systemClock } = options
    const { commandTimeoutMs = LONGEST_COMMAND_MS } = options
    // A zero interval would keep the waiting process polling without pause.
    if (!(pollMs >= 1)) throw new InvalidInputError('pollMs', pollMs, 'milliseconds of at least 1')
    if (!(longestSilenceMs >= 0)) {
      throw new InvalidInputError('longestSilenceMs', longestSilenceMs, 'milliseconds of at least 0')
    }
    if (!(commandTimeoutMs >= 1 && commandTimeoutMs < 2 ** 31)) {
      throw new InvalidInputError('commandTimeoutMs', commandTimeoutMs, 'milliseconds from 1 to 2147483647')
    }
    this.#options = options
    this.#clock = clock
    this.#longestMs = longestSilenceMs
    this.#pollMs = pollMs
    this.#commandMs = commandTimeoutMs
    this.#open = open
  }

  /**
   * Runs a query once, if it is due.
   *
   * @returns null if it was not due or got no answer
   * @throws PctodlError `SLURM_UNREACHABLE` if Slurm does not answer for too long; the signal's reason at once; any
   * other error of the query
   */
  async ask<T>(question: (run: RunSlurm) => Promise<T>, signal?: AbortSignal): Promise<T | null> {
    const nowMs = this.#clock.now()
    if (this.#silence !== undefined) {
      const { againAtMs } = this.#silence
      if (nowMs < againAtMs) return null
      // After a pause without queries, the time without an answer starts again.
      if (nowMs > againAtMs + Math.max(LONGEST_WAIT_MS, this.#pollMs)) this.#silence = undefined
    }
    try {
      const answer = await question((program, args) => slurm(program, args, { timeoutMs: this.#commandMs, signal }))
      this.#answered(this.#silence)
      this.#silence = undefined
      return answer
    } catch (error) {
      if (!isSlurmFailure(error)) throw error
      this.#silence = this.#failed(error, this.#silence, nowMs, this.#longestMs)
      return null
    }
  }

  /**
   * Repeats an idempotent request until Slurm's controller answers. If the signal aborts during a request, the request
   * gets a little more time, because it may have taken effect.
   *
   * @param maxMs given only for clean-up: how long to retry, ms, at most `longestSilenceMs`. There is no retry if Slurm
   *   had already stopped answering.
   * @throws the errors of `ask`
   */
  async untilReached<T>(
    what: (run: RunSlurm, attempt: number) => Promise<T>,
    signal?: AbortSignal,
    maxMs?: number,
  ): Promise<T> {
    const timeoutMs = maxMs === undefined ? this.#commandMs : Math.min(this.#commandMs, LONGEST_END_MS)
    const longestMs = maxMs === undefined ? this.#longestMs : this.#isSilent ? 0 : Math.min(maxMs, this.#longestMs)
    const limits = { timeoutMs, signal, graceMs: LONGEST_END_MS }
    let silence: Silence | undefined
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      const askedMs = this.#clock.now()
      try {
        const answer = await what((program, args) => slurm(program, args, limits), attempt)
        this.#answered(silence)
        return answer
      } catch (error) {
        if (!isUnreached(error)) {
          if (isSlurmFailure(error)) this.#answered(silence)
          throw error
        }
        silence = this.#failed(error, silence, askedMs, longestMs)
      }
      await this.#clock.sleep(silence.waitMs, signal)
    }
  }

  /** Records that Slurm was reached; an answer with an error counts, too. */
  #answered(silence: Silence | undefined): void {
    this.#isSilent = false
    if (silence === undefined) return
    this.#options.onSilence?.({ error: null, forMs: this.#clock.now() - silence.fromMs, againInMs: 0 })
  }

  #failed(error: PctodlError, before: Silence | undefined, askedMs: number, longestMs: number): Silence {
    this.#isSilent = true
    const nowMs = this.#clock.now()
    const fromMs = before?.fromMs ?? askedMs
    const forMs = nowMs - fromMs
    if (forMs >= longestMs) throw givenUp(error, forMs, this.#open())
    const nextMs = Math.max(1, this.#pollMs, 2 * (before?.waitMs ?? 0))
    const waitMs = Math.min(LONGEST_WAIT_MS, longestMs - forMs, nextMs)
    this.#options.onSilence?.({ error, forMs, againInMs: waitMs })
    return { fromMs, waitMs, againAtMs: nowMs + waitMs }
  }
}

function givenUp(cause: PctodlError, forMs: number, jobs: readonly string[]): PctodlError {
  const shown = `${jobs.slice(0, 20).join(', ')}${jobs.length > 20 ? ', ...' : ''}`
  const left =
    jobs.length === 0 ? 'jobs it may have accepted keep running, see squeue' : `its jobs ${shown} are left running`
  return new PctodlError(
    'SLURM_UNREACHABLE',
    `Slurm has not answered for ${(forMs / 1000).toFixed(0)} s; ${left}: call again with the same folder once it answers, or cancel them with scancel. Last error: ${cause.message}`,
    { cause },
  )
}
