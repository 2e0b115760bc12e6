import { sum } from '@pctodl/numerics'
import { PctodlError } from '@pctodl/platform'
import { assertInput } from '../input-checks.js'
import type { Board, Measured } from './board.js'
import { PLAN_VERSION, type PlanFile, RUN_FORMAT, type RunFile, trainingGpus } from './plan-file.js'
import type { SimulatedBoards } from './simulated-boards.js'
import { type StartTraining, TrainingProcess } from './training-process.js'

/** Minimum time between counter reads after the first step, ms. Reads cost time in the driver. */
const READ_PERIOD_MS = 500

export interface RunOptions extends Pick<StartTraining, 'stepPattern' | 'signal' | 'onLine'> {
  /** Command that trains on all GPUs of the plan and prints a line per step. `{world}`: the number of GPUs. */
  readonly command: readonly string[]
}

/**
 * Environment of a launcher such as `torchrun`: the training GPUs (local rank n is the nth of them), the samples of
 * each rank in a step, and the number of micro-batches of each rank.
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
 * @throws InvalidInputError if a training GPU has no board
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
  let last: Steady | null = null
  let lastMs = -Infinity
  const world = String(trainingGpus(plan).length)
  const uuids = new Map([...boards].map(([name, { uuid }]) => [name, uuid]))
  const training = new TrainingProcess({
    ...options,
    command: options.command.map((word) => word.replaceAll('{world}', world)),
    environment: launchEnvironment(plan, uuids),
    onStep: (steps) => {
      // The time before the first step is start-up and does not count.
      if (steps === 1) steady = beginWindows(boards)
      const nowMs = performance.now()
      if (steady === null || steps === 1 || nowMs - lastMs < READ_PERIOD_MS) return
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
  return runFile(plan, boards, await whole.read(), last)
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
  const workers = trainingGpus(plan).map(({ name, share, microBatches = 1 }) => ({
    board: names.indexOf(name),
    ...{ share, microBatches },
  }))
  const training = await train(workers, plan.allReduceS)
  try {
    const steady = beginWindows(byName)
    await training.further(steps)
    const measured = steady.read()
    await measured
    return { ...(await runFile(plan, byName, await whole.read(), { steps, measured })), simulated: true }
  } finally {
    await training.stop()
  }
}

async function setAll(plan: PlanFile, boards: ReadonlyMap<string, Board>): Promise<void> {
  const missing = trainingGpus(plan).find(({ name }) => !boards.has(name))
  assertInput(missing === undefined, 'boards', [...boards.keys()].join(', '), `a board for ${missing?.name}`)
  for (const { name, powerLimitW, smClockMhz = null } of trainingGpus(plan)) {
    await boards.get(name)!.setPowerLimit(powerLimitW)
    if (smClockMhz !== null) await boards.get(name)!.setSmClock(smClockMhz)
  }
}

/** Number of steps since the steady window began, and what the boards have measured since then. */
interface Steady {
  readonly steps: number
  readonly measured: Promise<readonly Measured[]>
}

function beginWindows(boards: ReadonlyMap<string, Board>) {
  const windows = [...boards.values()].map((board) => board.beginWindow())
  return { read: () => Promise.all(windows.map((window) => window.read())) }
}

async function runFile(
  { gpus }: PlanFile,
  boards: ReadonlyMap<string, Board>,
  whole: readonly Measured[],
  steady: Steady | null,
): Promise<RunFile> {
  const measured = (await steady?.measured) ?? []
  const names = [...boards.keys()]
  const longestS = (all: readonly Measured[]) => Math.max(...all.map(({ timeS }) => timeS))
  return {
    ...{ format: RUN_FORMAT, version: PLAN_VERSION },
    timeS: longestS(whole),
    energyJ: sum(whole.map(({ energyJ }) => energyJ)),
    gpus: names.map((name, i) => {
      const { share, powerLimitW, smClockMhz } = gpus.find((gpu) => gpu.name === name)!
      return { name, share, powerLimitW, smClockMhz, energyJ: whole[i]!.energyJ }
    }),
    steady: steady && {
      steps: steady.steps,
      timeS: longestS(measured),
      energyJ: Object.fromEntries(names.map((name, i) => [name, measured[i]!.energyJ])),
    },
  }
}
