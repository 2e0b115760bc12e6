import { asUsage, type CommandFunction, listOf, newCommand, numberBetween, parseCommand } from '@pctodl/command-line'
import type { GroupPowerModel } from '../model/group-power.js'
import type { Novelty } from '../model/novelty.js'
import type { ColocationPrediction, Interval } from '../model/prediction.js'
import { SlowdownModel } from '../model/slowdown-model.js'
import { allColocations, readStudy } from '../tables/study-tables.js'
import { formatTable } from './table.js'

export const predictCommand: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl colocate predict',
      description: 'Predict the throughput of workloads that share one GPU, from what was measured of others.',
      example: 'pctodl colocate predict --study ./measured --members resnet50_batch8-inf,vgg19_batch4-inf',
    },
    terminal,
  )
    .requiredOption('--study <folder>', 'folder with workloads.csv, colocations2.csv, ...')
    .requiredOption('--members <workloads>', 'co-running workloads, separated by commas', listOf(String))
    .option('--level <probability>', 'coverage of the intervals', numberBetween(0.01, 0.99), 0.9)
    .option('--json', 'print the prediction as JSON on standard output')
  await parseCommand(command, argv)
  const options = command.opts<{ study: string; members: string[]; level: number; json?: boolean }>()
  const study = readStudy(options.study)
  const members = asUsage(() => study.catalog.all(options.members))
  const model = SlowdownModel.fit(allColocations(study))
  const prediction = asUsage(() => model.predict(members, options.level))
  if (options.json) {
    const shown = { ...prediction, members: options.members, level: options.level }
    terminal.stdout.write(`${JSON.stringify(shown, null, 2)}\n`)
  } else terminal.stdout.write(`${formatPrediction(prediction, options.level, model.power)}\n`)
  return 0
}

function formatPrediction(prediction: ColocationPrediction, level: number, power: GroupPowerModel | null): string {
  const percent = `${(100 * level).toFixed(0)} % interval`
  const row = (name: string, alone: string, throughput: number, interval: Interval | null, kept: number) => [
    ...[name, alone, throughput.toFixed(1)],
    interval ? `${interval.low.toFixed(1)} - ${interval.high.toFixed(1)}` : 'unknown',
    (100 * kept).toFixed(0),
  ]
  const { throughputs, throughputIntervals, keptShares } = prediction
  const rows = prediction.members.map(({ name, exclusiveThroughput }, i) =>
    row(name, exclusiveThroughput.toFixed(1), throughputs[i]!, throughputIntervals?.[i] ?? null, keptShares[i]!),
  )
  const sum = row('sum', '', prediction.throughputSum, prediction.throughputSumInterval, prediction.weightedSpeedup)
  const table = formatTable(['workload', 'alone /s', 'shared /s', percent, 'keeps %'], [...rows, sum])
  return `${table}\n${formatNovelty(prediction)}${formatPower(prediction, power)}`
}

const noveltyTexts: Readonly<Record<Novelty, string>> = {
  'known pairs': 'all were measured together',
  'new pairs': 'all were measured with co-runners, but not all together',
  'batch size between': 'one was never measured with co-runners, but its network was, with smaller and larger batches',
  'new batch size': 'one was never measured with co-runners, but its network was, with another batch size',
  'new network': 'one network was never measured with co-runners',
}

function formatNovelty({ novelty, throughputIntervals }: ColocationPrediction): string {
  return `${noveltyTexts[novelty]}${throughputIntervals ? '' : '; too little of that kind was measured for intervals'}`
}

function formatPower({ powerW }: ColocationPrediction, power: GroupPowerModel | null): string {
  if (powerW === null || !power) return ''
  const { mapePercent, groups } = power.fitted
  return `\npower: ${powerW.toFixed(0)} W (off by ${mapePercent.toFixed(1)} % in the mean over ${groups} measured groups, from measured shares)`
}
