import type { SeededRandom } from '@pctodl/numerics'
import { PerfModel } from '../src/index.js'

/** Fields of networks that may be 0 in a parameter file. */
const mayBeNothing = ['serialPerBatch', 'gapMs', 'hostPerSampleMs', 'memoryEnergyMj', 'mixedMbPerSample'] as const

/**
 * A model that a parameter file may contain but no fit has produced. Every number is off by a factor of up to two,
 * devices are up to e^2 times as fast as the equations predict, powers and hosts are off as well, and some fields are
 * 0.
 */
export function farModel(model: PerfModel, random: SeededRandom): PerfModel {
  const parameters = structuredClone(model.parameters)
  const off = (most: number) => most * (2 * random.uniform() - 1)
  const scaled = <T extends object>(of: T): T =>
    Object.fromEntries(
      Object.entries(of).map(([name, value]) => [name, typeof value === 'number' ? value * Math.exp(off(0.7)) : value]),
    ) as T
  const moved = (grid: readonly number[], by: () => number) =>
    grid.map((value) => Math.min(2, Math.max(-2, value + by())))
  const { boardParameters } = parameters
  parameters.boardParameters = {
    ...scaled(boardParameters),
    bandwidthCeiling: 0.5 + 0.5 * random.uniform(),
    voltageFloor: 0.3 + 0.7 * random.uniform(),
  }
  parameters.networks = parameters.networks.map((network) => {
    const own = scaled(network)
    for (const field of mayBeNothing) if (random.uniform() < 0.2) own[field] = 0
    const faster = 2 * random.uniform()
    own.hostSpeed = moved(own.hostSpeed, () => off(0.5))
    own.corrections = own.corrections.map((entry) => ({
      ...entry,
      speed: moved(entry.speed, () => faster),
      dynamicPower: moved(entry.dynamicPower, () => off(0.7)),
    }))
    return own
  })
  return PerfModel.load(parameters)
}
