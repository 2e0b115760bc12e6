import type { PlanFile, RunFile } from './plan-file.js'
import { PLAN_VERSION, RUN_FORMAT } from './plan-file.js'
import type { SimulatedBoards } from './simulated-boards.js'

/**
 * Carry a plan out on simulated boards: set limits and clocks, train until they are warm, and measure `steps` steps of all of them.
 *
 * @param names GPUs of the plan in the order of the boards; those that it leaves out idle, and are measured so
 * @throws PctodlError `TRAINING_FAILED` where a share does not fit into memory; what the boards throw for a limit that they have not
 */
export async function runSimulated(
  plan: PlanFile,
  { boards, train }: SimulatedBoards,
  names: readonly string[],
  steps: number,
): Promise<RunFile> {
  const gpus = names.map((name) => plan.gpus.find((gpu) => gpu.name === name)!)
  for (const [i, { powerLimitW, smClockMhz = null }] of gpus.entries()) {
    if (powerLimitW !== null) await boards[i]!.setPowerLimit(powerLimitW)
    if (smClockMhz !== null) await boards[i]!.setSmClock(smClockMhz)
  }
  const wholes = boards.map((board) => board.beginWindow())
  const training = await train(
    gpus.flatMap(({ share, microBatches = 1 }, board) => (share === 0 ? [] : [{ board, share, microBatches }])),
    plan.allReduceS,
  )
  try {
    const windows = boards.map((board) => board.beginWindow())
    await training.further(steps)
    const measured = await Promise.all(windows.map((window) => window.read()))
    const whole = await Promise.all(wholes.map((window) => window.read()))
    return {
      format: RUN_FORMAT,
      version: PLAN_VERSION,
      simulated: true,
      timeS: Math.max(...whole.map(({ timeS }) => timeS)),
      energyJ: whole.reduce((sum, { energyJ }) => sum + energyJ, 0),
      gpus: gpus.map(({ name, share, powerLimitW, smClockMhz = null }, i) => {
        return { name, share, powerLimitW, smClockMhz, ...whole[i]! }
      }),
      steady: {
        steps,
        timeS: Math.max(...measured.map(({ timeS }) => timeS)),
        energyJ: Object.fromEntries(names.map((name, i) => [name, measured[i]!.energyJ])),
      },
    }
  } finally {
    await training.stop()
  }
}
