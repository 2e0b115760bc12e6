import { describeOutside } from '@pctodl/perf-model'
import { type Configuration, type GpuSpec, sameProcess, type Tenant } from '@pctodl/platform'
import type { FeasiblePartition, PartitionStep, StoppedBecause, TradeRow } from '../result.js'
import type { PartitionCall } from './partition-options.js'
import { newTable } from './table.js'

export const stoppedWords: Readonly<Record<StoppedBecause, string>> = {
  'no-improving-move': 'no move improves it any more',
  'evaluation-budget': 'the evaluation budget is spent',
  'time-budget': 'the time budget is spent',
  'greedy-only': 'only the greedy stage was asked for',
  exhausted: 'everything was looked at',
}

/** Text report of a partition. */
export function formatPartition(call: PartitionCall, result: FeasiblePartition, elapsedMs: number): string {
  const { configuration, prediction, marginW, capExceedanceProbability: risk } = result
  const several = call.networks.length > 1
  const tenants = newTable([
    'tenants',
    ...(several ? ['network'] : []),
    'share %',
    'batch',
    'samples/s each',
    'latency ms',
  ])
  const { tenants: list } = configuration
  for (let first = 0, next = 0; first < list.length; first = next) {
    const { model, mpsPercent, batchSize } = list[first]!
    while (next < list.length && sameTenant(list[next]!, list[first]!)) next++
    const { throughput, latencyMs, p99LatencyMs } = prediction.tenants[first]!
    const p99 = p99LatencyMs === undefined ? '' : ` (p99 ${p99LatencyMs.toFixed(1)})`
    tenants.push([
      next - first,
      ...(several ? [model] : []),
      mpsPercent,
      batchSize,
      throughput.toFixed(1),
      `${latencyMs.toFixed(1)}${p99}`,
    ])
  }
  return [
    heading(call),
    ...(result.boardLimitW === undefined
      ? []
      : [`the board takes at most ${result.boardLimitW} W, which is held in the place of the cap`]),
    tenants.toString(),
    `clocks      SM ${configuration.smClockMhz} MHz, memory ${configuration.memClockMhz} MHz`,
    `throughput  ${prediction.throughput.toFixed(1)} samples/s${several ? `, weighted ${result.weightedThroughput.toFixed(1)}` : ''}`,
    `power       ${prediction.powerW.toFixed(1)} W, ${marginW.toFixed(1)} W below the cap` +
      (risk === undefined ? '' : `; exceeds it with probability ${risk.toPrecision(2)}`),
    `utilisation SM ${prediction.smUtilPercent.toFixed(0)} %, memory ${prediction.memUtilPercent.toFixed(0)} %`,
    `search      ${result.evaluations} evaluations in ${elapsedMs.toFixed(1)} ms; stopped because ${stoppedWords[result.stoppedBecause]}`,
    ...(result.trade === undefined || result.trade.length < 2 ? [] : [formatTrade(result.trade)]),
    ...(result.domain?.outside ?? []).map(describeOutside),
    ...verification(call.spec, configuration),
  ].join('\n')
}

/** Table of p99 latency, throughput and power against the number of processes. */
function formatTrade(trade: readonly TradeRow[]): string {
  const table = newTable(['processes', 'p99 ms', 'samples/s', 'W'])
  for (const { processes, p99LatencyMs, throughput, powerW } of trade) {
    table.push([processes, p99LatencyMs.toFixed(1), throughput.toFixed(1), powerW.toFixed(1)])
  }
  return table.toString()
}

/** Table of the search steps, starting from the empty board. */
export function formatSteps(steps: readonly PartitionStep[]): string {
  const table = newTable(['step', 'stage', 'move', 'SM MHz', 'memory MHz', 'samples/s', 'W'])
  steps.forEach(({ stage, move, configuration, throughput, powerW }, i) => {
    const { smClockMhz, memClockMhz } = configuration
    table.push([i + 1, stage, move, smClockMhz, memClockMhz, throughput.toFixed(1), powerW.toFixed(1)])
  })
  return table.toString()
}

/**
 * Command that measures the configuration in the profiler's single mode. This mode runs one network, so the result is
 * null for several networks.
 */
export function verificationCommand(spec: GpuSpec, { tenants, smClockMhz, memClockMhz }: Configuration): string | null {
  const model = tenants[0]?.model
  if (model === undefined || tenants.some((tenant) => tenant.model !== model)) return null
  const shares = tenants.map((tenant) => tenant.mpsPercent).join(',')
  const batches = tenants.map((tenant) => tenant.batchSize).join(',')
  return (
    `pctodl profile --backend sim --gpu ${spec.key} --model ${model} --single ` +
    `--shares ${shares} --batches ${batches} --sm-clock ${smClockMhz} --mem-clock ${memClockMhz}`
  )
}

function verification(spec: GpuSpec, configuration: Configuration): string[] {
  const command = verificationCommand(spec, configuration)
  if (command === null)
    return ['', 'pctodl profile measures one network at a time: this mix cannot be verified by one call.']
  return ['', `Verify (on a real board: --gpu 0 without --backend sim):`, `  ${command}`]
}

function sameTenant(a: Tenant, b: Tenant): boolean {
  return sameProcess(a, b) && a.batchSize === b.batchSize
}

function heading({ networks, spec, search }: PartitionCall): string {
  return `${networks.map((network) => network.model).join(', ')} on ${spec.name}, power cap ${search.powerCapW} W`
}
