import { PctodlError } from '@pctodl/platform'
import type { Board, Measured } from './board.js'
import { PLAN_VERSION, type PlanFile, RUN_FORMAT, type RunFile, trainingGpus } from './plan-file.js'
import type { SimulatedBoards } from './simulated-boards.js'
import { TrainingProcess } from './training-process.js'

/** Minimum time between counter reads after the first step, ms: reads cost driver time. */
const READ_PERIOD_MS = 500

export interface RunOptions {
  /**
   * Command that trains on all GPUs of the plan, e.g. `torchrun`. It or its children print a line per step. `{world}` in
   * it is replaced by the number of training GPUs.
   */
  readonly command: readonly string[]
  readonly stepPattern: RegExp
  readonly signal: AbortSignal
  readonly onLine?: (line: string) => void
}

/**
 * Environment of a launcher such as `torchrun`, in addition to what it sets for its workers (`RANK`, `WORLD_SIZE`,
 * ...):
 *
 * - `CUDA_VISIBLE_DEVICES`: the training GPUs; local rank n is the nth of them.
 * - `PCTODL_SHARES`: samples of each rank in a step. Rank n trains on those of the shuffled global batch that follow
 * the shares before its own.
 * - `PCTODL_MICRO_BATCHES`: number of parts in which each rank processes its share, accumulating the gradients.
 *
 * @param uuids of all training GPUs of the plan, by name. CUDA and NVML may number the boards differently
 */
export function launchEnvironment(plan: PlanFile, uuids: ReadonlyMap<string, string>): Record<string, string> {
  const gpus = trainingGpus(plan)
  return {
    CUDA_VISIBLE_DEVICES: gpus.map(({ name }) => uuids.get(name)!).join(),
    PCTODL_SHARES: gpus.map(({ share }) => share).join(),
    PCTODL_MICRO_BATCHES: gpus.map(({ microBatches = 1 }) => microBatches).join(),
  }
}

/**
 * Carry out a plan: set limits and clocks, start the command, wait until it ends, and measure.
 *
 * @param boards by name; boards of GPUs the plan leaves out are optional, and are not measured if absent
 * @throws PctodlError `TRAINING_FAILED` with the exit code; the signal's reason if aborted
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
  let lastMs = -Infinity
  const world = String(trainingGpus(plan).length)
  const uuids = new Map([...boards].map(([name, { uuid }]) => [name, uuid]))
  const training = new TrainingProcess({
    ...options,
    command: options.command.map((word) => word.replaceAll('{world}', world)),
    environment: launchEnvironment(plan, uuids),
    onStep: (steps) => {
      if (steady === null) {
        // The time before the first step is start-up and does not count.
        steady = beginWindows(boards)
        return
      }
      const nowMs = performance.now()
      if (nowMs - lastMs < READ_PERIOD_MS) return
      lastMs = nowMs
      last = { steps: steps - 1, measured: steady.read() }
      // Avoids an unhandled rejection; the caller that awaits the result sees the error.
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

/** Carries out a plan on simulated boards. They train until warm, then `steps` steps are measured. */
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
