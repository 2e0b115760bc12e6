import { type Clock, systemClock } from '@pctodl/platform'
import { assertInput, assertPositiveInteger, repeated } from '../input-checks.js'
import { PROFILE_FORMAT, PROFILE_VERSION, type ProfileFile } from '../profile/profile-file.js'
import type { Setting } from '../profile/setting.js'
import type { Board } from './board.js'
import { type StartTraining, TrainingProcess } from './training-process.js'

export interface TrainingSteps {
  further(steps: number): Promise<void>
  stop(): Promise<void>
}

export interface CollectOptions extends Pick<StartTraining, 'stepPattern' | 'signal'> {
  /** Command that trains and prints a line per step; `{batch}` stands for the batch size. Empty with `startTraining`. */
  readonly command: readonly string[]
  /** Starts a training in place of the command: on a simulated board, or within this process. */
  readonly startTraining?: (batchSize: number) => Promise<TrainingSteps>
  readonly batchSizes: readonly number[]
  readonly powerLimitsW: readonly number[]
  /** SM clocks to lock after the limits, under the largest limit, MHz. Default: none. */
  readonly smClocksMhz?: readonly number[]
  /** Unmeasured steps after each change of the limit or clock. */
  readonly warmupSteps: number
  /** Steps of a measured window. */
  readonly steps: number
  readonly repeats: number
  /** Duration of the idle power measurement at the start, s. */
  readonly idleS: number
  /** Called after each batch size with all measurements so far. */
  readonly onProfile?: (profile: ProfileFile) => void
  /** Called with each window. */
  readonly onWindow?: (row: ProfileFile['rows'][number]) => void
  readonly model?: string
  readonly clock?: Clock
}

/** Minimum number of steps of a training command for one batch size; those made while a limit is set do not count. */
export function stepsNeeded({ warmupSteps, steps, repeats, powerLimitsW, smClocksMhz = [] }: CollectOptions): number {
  return 1 + repeats * (powerLimitsW.length + smClocksMhz.length) * (warmupSteps + steps)
}

/**
 * Measure a GPU over batch sizes, power limits and locked clocks. Each batch size is one training process; under each
 * setting in turn it runs some steps to settle and then a window of exactly `steps` steps.
 *
 * @throws InvalidInputError, before anything is measured, for options that yield no profile or that the board lacks
 * @throws PctodlError `TOO_FEW_STEPS` if the command ends too early
 */
export async function collectProfile(board: Board, options: CollectOptions): Promise<ProfileFile> {
  assertCollectOptions(options)
  const { batchSizes, powerLimitsW, smClocksMhz = [], clock = systemClock, signal, idleS } = options
  const { spec } = board
  const { min, max } = spec.powerLimitW
  for (const watts of powerLimitsW) {
    assertInput(watts >= min && watts <= max, 'powerLimitsW', watts, `a limit of ${min} to ${max} W on ${spec.name}`)
  }
  for (const mhz of smClocksMhz) {
    const isKnown = spec.clockStates.some((state) => state.smClocksMhz.includes(mhz))
    assertInput(isKnown, 'smClocksMhz', mhz, `a clock of ${spec.name}, MHz`)
  }
  const idleWindow = board.beginWindow()
  await clock.sleep(1000 * idleS, signal)
  const idle = await idleWindow.read()
  const rows: ProfileFile['rows'] = []
  const profile = (): ProfileFile => ({
    ...{ format: PROFILE_FORMAT, version: PROFILE_VERSION },
    gpu: { name: board.name, uuid: board.uuid, driverVersion: board.driverVersion },
    model: options.model ?? null,
    idlePowerW: idle.energyJ / idle.timeS,
    rows: [...rows],
  })
  for (const batchSize of batchSizes) {
    for await (const row of windowsOf(board, batchSize, options)) {
      rows.push(row)
      options.onWindow?.(row)
    }
    options.onProfile?.(profile())
  }
  return profile()
}

async function* windowsOf(board: Board, batchSize: number, options: CollectOptions) {
  const { command, powerLimitsW, smClocksMhz = [], warmupSteps, steps, repeats, stepPattern, signal } = options
  const settings: Setting[] = [
    ...powerLimitsW.map((powerLimitW) => ({ powerLimitW, smClockMhz: null })),
    ...smClocksMhz.map((smClockMhz) => ({ powerLimitW: Math.max(...powerLimitsW), smClockMhz })),
  ]
  const training: TrainingSteps =
    (await options.startTraining?.(batchSize)) ??
    new TrainingProcess({
      command: command.map((word) => word.replaceAll('{batch}', String(batchSize))),
      environment: { CUDA_VISIBLE_DEVICES: board.uuid },
      stepPattern,
      signal,
    })
  try {
    // The first step compiles kernels and fills caches.
    await training.further(1)
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (const { powerLimitW, smClockMhz } of settings) {
        await board.setPowerLimit(powerLimitW)
        // Without locked clocks, the clock is never touched: some boards cannot unlock it.
        if (smClocksMhz.length > 0) await board.setSmClock(smClockMhz)
        await training.further(warmupSteps)
        const window = board.beginWindow()
        await training.further(steps)
        const clock = smClockMhz === null ? {} : { smClockMhz }
        yield { batchSize, powerLimitW, ...clock, steps, repeat, ...(await window.read()) }
      }
    }
  } finally {
    await training.stop()
  }
}

/** @throws InvalidInputError */
export function assertCollectOptions(options: CollectOptions): void {
  const { command, startTraining, batchSizes, powerLimitsW, smClocksMhz, warmupSteps, steps, repeats, idleS } = options
  const isStarted = startTraining !== undefined
  assertInput(isStarted || command.length > 0, 'command', 'none', 'a command that trains')
  const hasBatch = isStarted || command.some((word) => word.includes('{batch}'))
  assertInput(hasBatch, 'command', command.join(' '), 'the placeholder {batch} for the batch size')
  for (const [name, values] of Object.entries({ batchSizes, powerLimitsW, ...(smClocksMhz && { smClocksMhz }) })) {
    const arePositive = values.length > 0 && values.every((value) => value > 0 && value < Infinity)
    const isGood = arePositive && repeated(values) === undefined
    assertInput(isGood, name, values.join(', '), 'different positive numbers')
  }
  for (const batchSize of batchSizes) assertPositiveInteger('batchSizes', batchSize)
  const sizes = batchSizes.join(', ')
  assertInput(batchSizes.length >= 2, 'batchSizes', sizes, 'at least two: one does not show how time grows')
  const isWarmup = Number.isInteger(warmupSteps) && warmupSteps >= 0
  assertInput(isWarmup, 'warmupSteps', warmupSteps, 'an integer of at least 0')
  assertPositiveInteger('steps', steps)
  assertPositiveInteger('repeats', repeats)
  assertInput(idleS > 0, 'idleS', idleS, 'a positive number of seconds')
}
