import { smClocksAt, snapDown } from '@pctodl/platform'
import type { Teller } from '../story.js'

/** What a larger batch buys, and what it costs. */
export const tellOfBatches: Teller = (predictor, model) => {
  const memClockMhz = predictor.memClocksMhz[0]!
  const smClockMhz = snapDown(smClocksAt(predictor.spec, memClockMhz)!, predictor.spec.boostClockMhz)!
  const sizes = [1, 2, 4, 8, 16, 32, 64, 96, 128]
  const at = (batchSize: number) =>
    predictor.predict({ tenants: [{ model, mpsPercent: 50, batchSize }], smClockMhz, memClockMhz }).tenants[0]!
  const most = at(128)
  const enough = sizes.find((size) => at(size).throughput >= 0.9 * most.throughput)!
  return {
    finding: `With half the board ${model} reaches 90 % of its throughput at a batch of ${enough}, in ${at(enough).latencyMs.toFixed(0)} ms; a batch of 128 takes ${most.latencyMs.toFixed(0)} ms for the rest.`,
    plot: {
      description: 'Throughput and latency over the batch size, each in percent of that at 128',
      xLabel: 'batch size',
      yLabel: '% of batch 128',
      curves: [
        { label: 'throughput', color: '--network-1', isPoints: true },
        { label: 'latency', color: '--network-6', isPoints: true },
      ],
      values: [
        sizes,
        sizes.map((size) => (100 * at(size).throughput) / most.throughput),
        sizes.map((size) => (100 * at(size).latencyMs) / most.latencyMs),
      ],
    },
  }
}
