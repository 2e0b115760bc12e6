import { partition } from '@pctodl/greedy-partition'
import { loadPerfModel } from '@pctodl/perf-model'

/** Say how to run a network on a board under a power cap. */
export function plan(board: string, model: string, powerCapW: number): string {
  const predictor = loadPerfModel(board)
  const result = partition(predictor, { models: model, powerCapW, powerMarginW: 2, maxTenants: 8, latencySloMs: 400 })
  if (!result.feasible) return result.message
  const { tenants, smClockMhz, memClockMhz } = result.configuration
  const shares = tenants.map(({ mpsPercent, batchSize }) => `${mpsPercent} % x ${batchSize}`).join(', ')
  const { throughput, powerW } = result.prediction
  return `${shares} at ${smClockMhz}/${memClockMhz} MHz: ${throughput.toFixed(0)} samples/s, ${powerW.toFixed(1)} W`
}
