import { PctodlError, VirtualClock } from '@pctodl/platform'
import { assertInput } from '../input-checks.js'
import type { GpuPlan } from '../training-plan.js'
import { type Board, boardOf } from './board.js'
import type { TrainingSteps } from './collect-profile.js'

/** Training time before a measurement, ms. Boards need minutes to warm up, and a warm board has more leakage power. */
const WARM_UP_MS = 90_000
/** Training time before a measurement on boards that have just trained, ms. */
const STAY_WARM_MS = 15_000
const WARM_UP_STEPS = 10

export interface SimulatedWorker extends Pick<GpuPlan, 'share' | 'microBatches'> {
  /** Index of its board. */
  readonly board: number
}

/** Boards of `@pctodl/gpu-sim` with a common virtual clock, to measure and carry out plans without a GPU. */
export interface SimulatedBoards {
  readonly clock: VirtualClock
  readonly boards: readonly Board[]
  /** Start synchronous training and run it until the boards are warm. */
  train(workers: readonly SimulatedWorker[], allReduceS?: number): Promise<TrainingSteps>
}

/**
 * @param units boards by name, e.g. `3080Ti`; `3080Ti#2` is another unit with its own sensor error
 * @param network as named by `@pctodl/model-zoo`
 * @throws PctodlError `GPU_SIM_MISSING` without the simulation packages; UnknownNameError for an unknown board or
 *   network; InvalidInputError for a unit number above `Number.MAX_SAFE_INTEGER`
 */
export async function openSimulatedBoards(
  units: readonly string[],
  network: string,
  signal: AbortSignal,
): Promise<SimulatedBoards> {
  const [{ SimulatedGpu, SimulatedTraining }, { layerGraph, trainingGraph }] = await loadSimulator()
  const step = trainingGraph(layerGraph(network))
  const clock = new VirtualClock()
  const gpus = units.map((unit) => {
    const [, name = unit, seed = '1'] = /^(.*)#(\d+)$/.exec(unit) ?? []
    const isExact = Number.isSafeInteger(Number(seed))
    assertInput(isExact, 'unit', unit, `a number after # of at most ${Number.MAX_SAFE_INTEGER}`)
    return new SimulatedGpu(name, { clock, seed: Number(seed), networks: [step] })
  })
  const boards = await Promise.all(gpus.map(async (gpu) => boardOf(gpu, await gpu.acquire(), gpu.spec.name, null)))
  let isWarm = false
  const train = async (workers: readonly SimulatedWorker[], allReduceS = 0): Promise<TrainingSteps> => {
    const training = new SimulatedTraining(
      workers.map(({ board, share, microBatches }) => ({ gpu: gpus[board]!, share, microBatches })),
      { model: step.name, allReduceMs: 1000 * allReduceS },
    )
    await training.start(signal)
    const warmMs = clock.now() + (isWarm ? STAY_WARM_MS : WARM_UP_MS)
    while (clock.now() < warmMs) await training.further(WARM_UP_STEPS, signal)
    isWarm = true
    return { further: (steps) => training.further(steps, signal), stop: () => training.stop() }
  }
  return { clock, boards, train }
}

async function loadSimulator() {
  try {
    return await Promise.all([import('@pctodl/gpu-sim'), import('@pctodl/model-zoo')])
  } catch (cause) {
    const packages = '@pctodl/gpu-sim @pctodl/model-zoo'
    const remedy = `--backend sim needs ${packages.replace(' ', ' and ')}: npm install ${packages}`
    throw new PctodlError('GPU_SIM_MISSING', remedy, { cause })
  }
}
