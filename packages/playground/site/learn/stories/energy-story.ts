import { smClocksAt } from '@pctodl/platform'
import type { Teller } from '../story.js'

/** The clock at which a sample costs least. */
export const tellOfEnergy: Teller = (predictor, model) => {
  const tenants = new Array(4).fill({ model, mpsPercent: 25, batchSize: 32 })
  const { memClocksMhz } = predictor
  const energies = memClocksMhz.map((memClockMhz) =>
    smClocksAt(predictor.spec, memClockMhz)!.map((smClockMhz) => {
      const { powerW, throughput } = predictor.predict({ tenants, smClockMhz, memClockMhz })
      return { smClockMhz, memClockMhz, energyJ: powerW / throughput, throughput }
    }),
  )
  const all = energies.flat()
  const least = all.reduce((a, b) => (b.energyJ < a.energyJ ? b : a))
  const fastest = all.reduce((a, b) => (b.throughput > a.throughput ? b : a))
  const clocks = [...new Set(all.map(({ smClockMhz }) => smClockMhz))].sort((a, b) => a - b)
  const saved = 100 * (1 - least.energyJ / fastest.energyJ)
  const given = 100 * (1 - least.throughput / fastest.throughput)
  return {
    finding: `A sample of ${model} costs least, ${least.energyJ.toFixed(4)} J, at ${least.smClockMhz} MHz with memory at ${least.memClockMhz} MHz: ${saved.toFixed(0)} % less than at full speed, with ${given.toFixed(0)} % less throughput.`,
    plot: {
      description: 'Energy of a sample over the SM clock, by memory clock',
      xLabel: 'SM clock, MHz',
      yLabel: 'J a sample',
      curves: memClocksMhz.map((clock, i) => ({ label: `memory at ${clock} MHz`, color: `--network-${i + 1}` })),
      values: [
        clocks,
        ...energies.map((points) =>
          clocks.map((clock) => points.find(({ smClockMhz }) => smClockMhz === clock)?.energyJ ?? null),
        ),
      ],
    },
  }
}
