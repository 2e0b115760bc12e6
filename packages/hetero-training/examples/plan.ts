import { findPlan, type GpuProfile, paretoFront } from '@pctodl/hetero-training'

/** Measured: 10 steps at each batch size under each limit, here of two GPUs that we made up. */
function profileOf(name: string, idlePowerW: number, limitsW: number[], samplesPerS: number): GpuProfile {
  const rows = limitsW.flatMap((powerLimitW, i) =>
    [32, 128, 512].map((batchSize) => {
      const timeS = 0.02 + batchSize / (samplesPerS * (1 - 0.15 * i))
      return { batchSize, powerLimitW, timeS, energyJ: 0.9 * powerLimitW * timeS }
    }),
  )
  return { name, unit: 'step', idlePowerW, rows }
}

/** Say how to split a batch of 512 over two GPUs within so many seconds a step. */
export function plan(timeS: number): string {
  const gpus = [
    { profile: profileOf('big', 35, [350, 250, 200], 2400) },
    { profile: profileOf('small', 10, [70, 60], 500), maxShare: 256 },
  ]
  const job = { gpus, globalBatch: 512, eta: 1 }
  const best = findPlan(job, { timeS })
  const parts = best.gpus.map(({ name, share, powerLimitW }) =>
    powerLimitW === null ? `nothing on ${name}` : `${share} on ${name} at ${powerLimitW} W`,
  )
  const { plans, knee } = paretoFront(job)
  return (
    `${parts.join(', ')}: ${best.timeS.toFixed(3)} s and ${best.energyJ.toFixed(1)} J a step; ` +
    `the knee of the ${plans.length} best is ${knee.timeS.toFixed(3)} s and ${knee.energyJ.toFixed(1)} J`
  )
}
