import { writeFileSync } from 'node:fs'

/** A GPU of our own making, in the published layout. */
export interface MadeUpGpu {
  /** At the largest limit and a large batch. */
  readonly samplesPerS: number
  readonly limitsW: readonly number[]
}

const batchSizes = [32, 64, 128, 256, 512]
const WINDOW_STEPS = 40

/** Measurements by batch size. */
export type MadeUpTrace = Record<string, { power_limit: number; energy: number; time: number }[]>

/** Time has a fixed part, speed goes with the square root of the limit, and power nears the limit with the batch. */
export function madeUpTrace({ samplesPerS, limitsW }: MadeUpGpu): MadeUpTrace {
  const largest = Math.max(...limitsW)
  return Object.fromEntries(
    batchSizes.map((batch) => [
      String(batch),
      limitsW.map((limit) => {
        const time = WINDOW_STEPS * (0.02 + (batch / samplesPerS) * Math.sqrt(largest / limit))
        const power = limit * (0.55 + (0.4 * batch) / (batch + 60))
        return { power_limit: limit, energy: power * time, time }
      }),
    ]),
  )
}

/** The same as `collect` writes it, of windows that have so many steps. */
export function writeProfile(file: string, name: string, trace: MadeUpTrace): void {
  const rows = Object.entries(trace).flatMap(([batchSize, windows]) =>
    windows.map(({ power_limit, energy, time }) => ({
      ...{ batchSize: Number(batchSize), powerLimitW: power_limit, steps: WINDOW_STEPS, timeS: time, energyJ: energy },
      repeat: 0,
    })),
  )
  const gpu = { name, uuid: name, driverVersion: null }
  const profile = { format: 'pctodl-hetero-profile', version: 1, gpu, model: null, idlePowerW: 30, rows }
  writeFileSync(file, JSON.stringify(profile))
}
