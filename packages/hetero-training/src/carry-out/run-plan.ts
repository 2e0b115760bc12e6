import { PctodlError } from '@pctodl/platform'
import type { Board, Measured } from './board.js'
import { PLAN_VERSION, type PlanFile, RUN_FORMAT, type RunFile } from './plan-file.js'
import type { SimulatedBoards } from './simulated-boards.js'
import { TrainingProcess } from './training-process.js'

/** Counters are read at the first step and then at most this often, ms: reads cost the driver time. */
const READ_PERIOD_MS = 500

export interface RunOptions {
  /** Trains on all GPUs of the plan, e.g. `torchrun`; it and what it starts print a line for each step. */
  readonly command: readonly string[]
  /** As `launchEnvironment` makes it. */
  readonly environment: Readonly<Record<string, string>>
  readonly stepPattern: RegExp
  readonly signal: AbortSignal
  /** Called with each line of the command. */
  readonly onLine?: (line: string) => void
}

/**
 * Carry a plan out: set limits and clocks, start the command, wait until it ends, and measure.
 *
 * @param boards by name; those of GPUs that the plan leaves out may be missing, and are measured where they are not
 * @throws PctodlError `TRAINING_FAILED` with the exit code; the reason of the signal where that ended it
 */
export async function runPlan(
  plan: PlanFile,
  boards: ReadonlyMap<string, Board>,
  options: RunOptions,
): Promise<RunFile> {
  await setAll(plan, boards)
  const whole = beginWindows(boards)
  let steady: ReturnType<typeof beginWindows> | null = null
  let last: { readonly steps: number; readonly measured: Promise<Measured[]> } | null = null
  let lastMs = Number.NEGATIVE_INFINITY
  const training = new TrainingProcess({
    ...options,
    onStep: (steps) => {
      if (steady === null) {
        // What comes before the first step is the start of the processes.
        steady = beginWindows(boards)
        return
      }
      const nowMs = performance.now()
      if (nowMs - lastMs < READ_PERIOD_MS) return
      lastMs = nowMs
      last = { steps: steps - 1, measured: steady.read() }
      // Whoever asks for the result hears of a failure.
      last.measured.catch(() => {})
    },
  })
  const ended = await training.ended
  options.signal.throwIfAborted()
  if (ended !== 'exit code 0') {
    throw new PctodlError('TRAINING_FAILED', `'${options.command.join(' ')}' ended with ${ended}`)
  }
  const found = last as { readonly steps: number; readonly measured: Promise<Measured[]> } | null
  return runFile(plan, boards, await whole.read(), found && { steps: found.steps, measured: await found.measured })
}

/** The same on simulated boards: they train until they are warm, and `steps` steps are measured. */
export async function runSimulated(
  plan: PlanFile,
  { boards, train }: SimulatedBoards,
  names: readonly string[],
  steps: number,
): Promise<RunFile> {
  const byName = new Map(names.map((name, i) => [name, boards[i]!]))
  await setAll(plan, byName)
  const whole = beginWindows(byName)
  const workers = plan.gpus.flatMap(({ name, share, microBatches = 1 }) =>
    share === 0 ? [] : [{ board: names.indexOf(name), share, microBatches }],
  )
  const training = await train(workers, plan.allReduceS)
  try {
    const steady = beginWindows(byName)
    await training.further(steps)
    const measured = await steady.read()
    return { ...runFile(plan, byName, await whole.read(), { steps, measured }), simulated: true }
  } finally {
    await training.stop()
  }
}

async function setAll({ gpus }: PlanFile, boards: ReadonlyMap<string, Board>): Promise<void> {
  for (const { name, powerLimitW, smClockMhz = null } of gpus) {
    if (powerLimitW !== null) await boards.get(name)!.setPowerLimit(powerLimitW)
    if (smClockMhz !== null) await boards.get(name)!.setSmClock(smClockMhz)
  }
}

function beginWindows(boards: ReadonlyMap<string, Board>) {
  const windows = [...boards.values()].map((board) => board.beginWindow())
  return { read: () => Promise.all(windows.map((window) => window.read())) }
}

function runFile(
  { gpus }: PlanFile,
  boards: ReadonlyMap<string, Board>,
  whole: readonly Measured[],
  steady: { readonly steps: number; readonly measured: readonly Measured[] } | null,
): RunFile {
  const names = [...boards.keys()]
  const longestS = (all: readonly Measured[]) => Math.max(...all.map(({ timeS }) => timeS))
  return {
    format: RUN_FORMAT,
    version: PLAN_VERSION,
    timeS: longestS(whole),
    energyJ: whole.reduce((sum, { energyJ }) => sum + energyJ, 0),
    gpus: names.map((name, i) => {
      const { share, powerLimitW, smClockMhz } = gpus.find((gpu) => gpu.name === name)!
      return { name, share, powerLimitW, smClockMhz, energyJ: whole[i]!.energyJ }
    }),
    steady: steady && {
      steps: steady.steps,
      timeS: longestS(steady.measured),
      energyJ: Object.fromEntries(names.map((name, i) => [name, steady.measured[i]!.energyJ])),
    },
  }
}
