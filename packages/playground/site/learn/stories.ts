import type { PerfModel } from '@pctodl/perf-model'
import { smClocksAt, snapDown } from '@pctodl/platform'
import { modelNamed } from '../work/models.js'
import { tellOfPeaks } from './peaks-story.js'
import type { Story, StoryName, StorySubject, Teller } from './story.js'
import { tellOfTheUnknown } from './unknown-story.js'

const COMPARED = ['mobilenet_v2', 'vgg19']

const tellOfClocks: Teller = (predictor, model) => {
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
    question: 'What does a lower clock cost?',
    why: 'A power limit makes the firmware lower the SM clock until power is within the limit. A planner sets the clock directly, for each mix of networks.',
    finding: `At ${half} of ${top} MHz, one process of ${model} keeps ${percent(model, half).toFixed(0)} % of its throughput and draws ${power.toFixed(0)} % of the power.`,
    plot: {
      description: `Throughput over the SM clock, in percent of the throughput at ${top} MHz`,
      xLabel: 'SM clock, MHz',
      yLabel: '% of throughput at the highest clock',
      curves: names.map((label, i) => ({ label, color: `--network-${i + 1}` })),
      values: [clocks, ...names.map((name) => clocks.map((clock) => percent(name, clock)))],
    },
  }
}

/** Returns the SM and memory clock at which the board runs if no limit lowers them. */
function boostClocks({ memClocksMhz, spec }: PerfModel) {
  const memClockMhz = memClocksMhz[0]!
  return { memClockMhz, smClockMhz: snapDown(smClocksAt(spec, memClockMhz)!, spec.boostClockMhz)! }
}

const tellOfShares: Teller = (predictor, model) => {
  const clocks = boostClocks(predictor)
  const counts = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20]
  const of = (count: number) => {
    const tenants = new Array(count).fill({ model, mpsPercent: 100 / count, batchSize: 32 })
    return predictor.predict({ tenants, ...clocks })
  }
  const rates = counts.map((count) => of(count).throughput)
  const best = rates.indexOf(Math.max(...rates))
  const gain = 100 * (rates[best]! / rates[0]! - 1)
  const latency = of(counts[best]!).tenants[0]!.latencyMs / of(1).tenants[0]!.latencyMs
  return {
    question: 'How many processes should share a board?',
    why: 'An MPS share limits how many SMs a process may use. Several processes fill the gaps that a single process leaves between its kernels.',
    finding:
      best === 0
        ? `One process of ${model} fills this board: it reaches ${rates[0]!.toFixed(0)} samples/s, and more processes do not reach more.`
        : `${counts[best]} processes of ${model} together reach ${rates[best]!.toFixed(0)} samples/s, ${gain.toFixed(0)} % more than one process on the whole board. Each batch then takes ${latency.toFixed(1)} times as long.`,
    plot: {
      description: `Throughput of all processes together over their number, at ${clocks.smClockMhz} MHz`,
      xLabel: 'processes, in equal shares',
      yLabel: 'samples/s',
      curves: [{ label: model, color: '--network-1', points: true }],
      values: [counts, rates],
    },
  }
}

const tellOfBatches: Teller = (predictor, model) => {
  const clocks = boostClocks(predictor)
  const sizes = [1, 2, 4, 8, 16, 32, 64, 96, 128]
  const at = (batchSize: number) =>
    predictor.predict({ tenants: [{ model, mpsPercent: 50, batchSize }], ...clocks }).tenants[0]!
  const largest = at(128)
  const enough = sizes.find((size) => at(size).throughput >= 0.9 * largest.throughput)!
  return {
    question: 'How large should a batch be?',
    why: 'Each sample of a batch waits until the whole batch is done. A latency objective in the Plan room limits this wait.',
    finding: `On half of the board, ${model} reaches 90 % of its throughput at batch 128 with batches of ${enough}. Such a batch takes ${at(enough).latencyMs.toFixed(0)} ms; a batch of 128 takes ${largest.latencyMs.toFixed(0)} ms.`,
    plot: {
      description: 'Throughput and latency over the batch size, each in percent of its value at 128',
      xLabel: 'batch size',
      yLabel: '% of batch 128',
      curves: [
        { label: 'throughput', color: '--network-1', points: true },
        { label: 'latency', color: '--network-6', points: true },
      ],
      values: [
        sizes,
        sizes.map((size) => (100 * at(size).throughput) / largest.throughput),
        sizes.map((size) => (100 * at(size).latencyMs) / largest.latencyMs),
      ],
    },
  }
}

const tellOfEnergy: Teller = (predictor, model) => {
  const tenants = new Array(4).fill({ model, mpsPercent: 25, batchSize: 32 })
  const { memClocksMhz } = predictor
  const energies = memClocksMhz.map((memClockMhz) =>
    smClocksAt(predictor.spec, memClockMhz)!.map((smClockMhz) => {
      const { powerW, throughput } = predictor.predict({ tenants, smClockMhz, memClockMhz })
      return { smClockMhz, memClockMhz, energyJ: powerW / throughput, throughput }
    }),
  )
  const all = energies.flat()
  const cheapest = all.reduce((a, b) => (b.energyJ < a.energyJ ? b : a))
  const fastest = all.reduce((a, b) => (b.throughput > a.throughput ? b : a))
  const clocks = [...new Set(all.map(({ smClockMhz }) => smClockMhz))].sort((a, b) => a - b)
  const saved = 100 * (1 - cheapest.energyJ / fastest.energyJ)
  const given = 100 * (1 - cheapest.throughput / fastest.throughput)
  return {
    question: 'Which clock costs the least energy?',
    why: "At a low clock, each sample takes longer and needs more of the board's idle power. At a high clock, the voltage is higher.",
    finding: `A sample of ${model} needs the least energy, ${cheapest.energyJ.toFixed(4)} J, at ${cheapest.smClockMhz} MHz (of ${clocks[0]} to ${clocks.at(-1)} MHz) with memory at ${cheapest.memClockMhz} MHz. That is ${saved.toFixed(0)} % less than at full speed, for ${given.toFixed(0)} % less throughput.`,
    plot: {
      description: 'Energy per sample over the SM clock, by memory clock',
      xLabel: 'SM clock, MHz',
      yLabel: 'J/sample',
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

const tellers: Readonly<Record<StoryName, Teller>> = {
  clock: tellOfClocks,
  shares: tellOfShares,
  batches: tellOfBatches,
  energy: tellOfEnergy,
  peaks: tellOfPeaks,
  unknown: tellOfTheUnknown,
}

/**
 * Returns one story for a board and a network.
 *
 * @throws UnknownNameError for a board or a network without parameters
 */
export async function tellStory({ name, board, model }: StorySubject & { name: StoryName }): Promise<Story> {
  return tellers[name](modelNamed(board), model)
}
