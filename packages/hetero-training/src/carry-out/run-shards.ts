import { anySignal, PctodlError } from '@pctodl/platform'
import type { Board, Measured } from './board.js'
import { PLAN_VERSION, RUN_FORMAT, type RunFile } from './plan-file.js'
import type { ShardCommand } from './shard-command.js'
import { TrainingProcess } from './training-process.js'

export interface RunOptions {
  readonly stepPattern: RegExp
  readonly signal: AbortSignal
  /** GPUs that the plan leaves out, whose idling is measured with the rest. */
  readonly leftOut?: readonly { readonly gpu: string; readonly board: Board }[]
  /** Called with each line of a process. */
  readonly onLine?: (gpu: string, line: string) => void
}

/**
 * Carry a plan out: set limits and clocks, start the processes, wait for all of them. Where one fails, the others are ended.
 *
 * @param boards one per shard
 * @throws PctodlError `TRAINING_FAILED` naming the GPU; the reason of the signal where that ended it
 */
export async function runShards(
  shards: readonly ShardCommand[],
  boards: readonly Board[],
  { stepPattern, signal, leftOut = [], onLine }: RunOptions,
): Promise<RunFile> {
  for (const [i, { powerLimitW, smClockMhz }] of shards.entries()) {
    await boards[i]!.setPowerLimit(powerLimitW)
    if (smClockMhz !== null) await boards[i]!.setSmClock(smClockMhz)
  }
  const failed = new AbortController()
  const ends = anySignal([signal, failed.signal])
  const all = [...boards, ...leftOut.map(({ board }) => board)]
  const steps = new SteadySteps(all)
  const windows = all.map((board) => board.beginWindow())
  const times = await Promise.allSettled(
    shards.map(async ({ gpu, command, environment }, rank) => {
      const training = new TrainingProcess({
        command,
        environment,
        stepPattern,
        signal: ends,
        ...(onLine ? { onLine: (line: string) => onLine(gpu, line) } : {}),
        ...(rank === 0 ? { onStep: () => steps.count() } : {}),
      })
      const ended = await training.ended
      if (ended !== 'exit code 0') {
        const error = new PctodlError('TRAINING_FAILED', `${gpu}: '${command.join(' ')}' ended with ${ended}`)
        // Only the first to fail says why; the others are ended by us.
        failed.abort(error)
        throw error
      }
      return windows[rank]!.read()
    }),
  )
  signal.throwIfAborted()
  failed.signal.throwIfAborted()
  const own = times.map((each) => {
    if (each.status === 'rejected') throw each.reason
    return each.value
  })
  // Until the last process ends the other GPUs wait, and draw power too.
  const whole = await readAll(windows)
  return {
    format: RUN_FORMAT,
    version: PLAN_VERSION,
    timeS: Math.max(...whole.map(({ timeS }) => timeS)),
    energyJ: whole.reduce((sum, { energyJ }) => sum + energyJ, 0),
    gpus: [
      ...shards.map(({ gpu: name, share, powerLimitW, smClockMhz }, i) => {
        return { name, share, powerLimitW, smClockMhz, timeS: own[i]!.timeS, energyJ: whole[i]!.energyJ }
      }),
      ...leftOut.map(({ gpu: name }, i) => ({ name, share: 0, powerLimitW: null, ...whole[shards.length + i]! })),
    ],
    steady: await steps.result([...shards, ...leftOut].map(({ gpu }) => gpu)),
  }
}

const readAll = (windows: readonly { read(): Promise<Measured> }[]) =>
  Promise.all(windows.map((window) => window.read()))

/** Counters are read at the first step and then at most this often, ms: reads cost the driver time. */
const READ_PERIOD_MS = 500

/** What the steps take without the start of the processes before them. */
class SteadySteps {
  readonly #boards: readonly Board[]
  #windows: ReturnType<Board['beginWindow']>[] | null = null
  #steps = 0
  #lastMs = Number.NEGATIVE_INFINITY
  #last: { readonly steps: number; readonly measured: Promise<Measured[]> } | null = null

  constructor(boards: readonly Board[]) {
    this.#boards = boards
  }

  count(): void {
    if (this.#windows === null) {
      this.#windows = this.#boards.map((board) => board.beginWindow())
      return
    }
    this.#steps++
    const nowMs = performance.now()
    if (nowMs - this.#lastMs < READ_PERIOD_MS) return
    this.#lastMs = nowMs
    this.#last = { steps: this.#steps, measured: readAll(this.#windows) }
    // Whoever asks for the result hears of a failure.
    this.#last.measured.catch(() => {})
  }

  async result(names: readonly string[]): Promise<RunFile['steady']> {
    if (this.#last === null) return null
    const measured = await this.#last.measured
    return {
      steps: this.#last.steps,
      timeS: Math.max(...measured.map(({ timeS }) => timeS)),
      energyJ: Object.fromEntries(names.map((name, i) => [name, measured[i]!.energyJ])),
    }
  }
}
