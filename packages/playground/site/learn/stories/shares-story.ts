import { smClocksAt, snapDown } from '@pctodl/platform'
import type { Teller } from '../story.js'

/** How many processes side by side a board wants. */
export const tellOfShares: Teller = (predictor, model) => {
  const memClockMhz = predictor.memClocksMhz[0]!
  const smClockMhz = snapDown(smClocksAt(predictor.spec, memClockMhz)!, predictor.spec.boostClockMhz)!
  const counts = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20]
  const of = (count: number) => {
    const tenants = new Array(count).fill({ model, mpsPercent: 100 / count, batchSize: 32 })
    return predictor.predict({ tenants, smClockMhz, memClockMhz })
  }
  const rates = counts.map((count) => of(count).throughput)
  const best = rates.indexOf(Math.max(...rates))
  const gain = 100 * (rates[best]! / rates[0]! - 1)
  return {
    finding:
      best === 0
        ? `${model} fills this board alone: one process does ${rates[0]!.toFixed(0)} samples/s, and more of them do no more.`
        : `${counts[best]} processes of ${model} do ${rates[best]!.toFixed(0)} samples/s together, ${gain.toFixed(0)} % more than one with the whole board; each batch then takes ${(of(counts[best]!).tenants[0]!.latencyMs / of(1).tenants[0]!.latencyMs).toFixed(1)} times as long.`,
    plot: {
      description: `Throughput of all processes together over their number, at ${smClockMhz} MHz`,
      xLabel: 'processes, in equal shares',
      yLabel: 'samples/s',
      curves: [{ label: model, color: '--network-1', isPoints: true }],
      values: [counts, rates],
    },
  }
}
