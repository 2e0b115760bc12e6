import { type Clock, InvalidInputError, PctodlError, systemClock } from '@pctodl/platform'
import { type RunSlurm, slurm } from './slurm-command.js'

/** Time for which Slurm may stay silent until it is given up, ms: a controller takes minutes to come back. */
const LONGEST_SILENCE_MS = 30 * 60_000
/** Between two tries at most, ms. */
const LONGEST_WAIT_MS = 60_000
/** Time for which one command of Slurm may run, ms: its own wait for the controller is 10 s by default, some ask more than once. */
const LONGEST_COMMAND_MS = 60_000
/** Time for which Slurm is waited for by who ends what runs, ms: nobody wants to wait for long then. */
export const LONGEST_END_MS = 10_000

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
  /** Time between looks, ms, at least 1; after failures twice as long each time, up to a minute. Default 1000. */
  readonly pollMs?: number
  /** How long Slurm may fail to answer, until it is an error that leaves the jobs as they are, ms. Default 30 minutes. */
  readonly longestSilenceMs?: number
  /** How long a command of Slurm may run, real ms; one that takes longer is killed, and Slurm was silent. Default a minute. */
  readonly commandTimeoutMs?: number
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
  if (!isSlurmFailure(error)) return false
  // What Slurm said, and not what it was called with: a folder may be called anything.
  const { name, stderr } = error.cause as { readonly name?: string; readonly stderr?: string }
  return (
    error.message.startsWith('squeue ') ||
    name === 'AbortError' ||
    /Unable to contact|Socket timed out|Connection (refused|reset|timed out)|Transport|Zero Bytes|temporarily unable|slurm_receive_msg/i.test(
      stderr ?? '',
    )
  )
}

/** Since when a question has not been answered, and when it is asked again. */
interface Silence {
  readonly fromMs: number
  readonly waitMs: number
  readonly againAtMs: number
}

/** Asks Slurm again where it does not answer, less and less often, and gives it up after a stated time. */
export class SlurmPatience {
  readonly #options: SlurmPatienceOptions
  readonly #clock: Clock
  readonly #longestMs: number
  readonly #pollMs: number
  readonly #commandMs: number
  readonly #open: () => readonly string[]
  #silence: Silence | undefined
  /** Whether it failed when it was last asked, whatever it was asked. */
  #isSilent = false

  /**
   * @param open jobs that are left as they are where Slurm is given up
   * @throws InvalidInputError
   */
  constructor(options: SlurmPatienceOptions, open: () => readonly string[] = () => []) {
    const { longestSilenceMs = LONGEST_SILENCE_MS, pollMs = 1000, clock = systemClock } = options
    const { commandTimeoutMs = LONGEST_COMMAND_MS } = options
    // With none between them looks would be all that whoever waits does.
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
   * Ask once, where the time for it has come.
   *
   * @returns null where Slurm was not or could not be asked
   * @throws PctodlError `SLURM_UNREACHABLE` after too long a silence; the signal's reason, at once; what else the question throws
   */
  async ask<T>(question: (run: RunSlurm) => Promise<T>, signal?: AbortSignal): Promise<T | null> {
    const nowMs = this.#clock.now()
    if (this.#silence !== undefined) {
      const { againAtMs } = this.#silence
      if (nowMs < againAtMs) return null
      // While nobody asked, nobody was silent.
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
   * Do what may be done twice until it succeeds, while Slurm's controller is not reached. What runs when the signal aborts may still answer
   * for a while, for it may have been done.
   *
   * @param maxMs a shorter silence than that of the options, for who ends: he waits for no Slurm that is silent already
   * @throws as `ask`
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

  /** Also where the answer is that it cannot be done. */
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
    jobs.length === 0 ? 'what it may have taken runs on, see squeue' : `its jobs ${shown} were left as they are`
  return new PctodlError(
    'SLURM_UNREACHABLE',
    `Slurm could not be asked for ${(forMs / 1000).toFixed(0)} s; ${left}: call again with the same folder when it answers, or end what runs with scancel. The last time: ${cause.message}`,
    { cause },
  )
}
