import { smClocksAt } from '@pctodl/platform'
import type { Teller } from '../story.js'

const COMPARED = ['mobilenet_v2', 'vgg19']

/** How much throughput a lower SM clock costs, by network. */
export const tellOfClocks: Teller = (predictor, model) => {
  const memClockMhz = predictor.memClocksMhz[0]!
  const clocks = smClocksAt(predictor.spec, memClockMhz)!
  const names = [model, ...COMPARED.filter((name) => name !== model && predictor.networks.includes(name))]
  const at = (name: string, smClockMhz: number) => {
    const tenants = [{ model: name, mpsPercent: 100, batchSize: 32 }]
    return predictor.predict({ tenants, smClockMhz, memClockMhz })
  }
  const top = clocks.at(-1)!
  const half = clocks.findLast((clock) => clock <= 0.6 * top)!
  const percent = (name: string, clock: number) => (100 * at(name, clock).throughput) / at(name, top).throughput
  const power = (100 * at(model, half).powerW) / at(model, top).powerW
  return {
    finding: `At ${half} of ${top} MHz one process of ${model} keeps ${percent(model, half).toFixed(0)} % of its throughput and draws ${power.toFixed(0)} % of the power.`,
    plot: {
      description: `Throughput over the SM clock, in percent of that at ${top} MHz`,
      xLabel: 'SM clock, MHz',
      yLabel: '% of the highest',
      curves: names.map((label, i) => ({ label, color: `--network-${i + 1}` })),
      values: [clocks, ...names.map((name) => clocks.map((clock) => percent(name, clock)))],
    },
  }
}
