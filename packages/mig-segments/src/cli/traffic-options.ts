import { readFileSync } from 'node:fs'
import { numberBetween, oneOf, UsageError } from '@pctodl/command-line'
import { SeededRandom } from '@pctodl/numerics'
import { type ArrivalProcess, faster, markovModulatedArrivals, poissonArrivals, replayedTimes } from '@pctodl/traffic'
import { parseAzureLlmTrace, parseBurstGptTrace } from '@pctodl/traffic/traces'
import type { Command } from 'commander'
import type { FleetOptions } from '../fleet/plan-fleet.js'
import { DEFAULT_LATENCY_SHARE } from '../profile.js'
import type { StatedTraffic } from '../tail/stated-traffic.js'

/** Options that decide when a plan meets an objective. */
export interface GateOptions
  extends Required<Omit<FleetOptions, 'arrivals' | 'checkRequests' | 'dispatch' | 'maxIterations'>> {
  readonly arrivals?: string
}

export function addGateOptions(command: Command): Command {
  return command
    .option(
      '--gate <name>',
      'latency: batch times, as published; tail: p99 of queues',
      oneOf('latency', 'tail'),
      'latency',
    )
    .option(
      '--burstiness <x>',
      'of requests, for --gate tail; 1 is Poisson; less bursty arrivals are checked, too',
      numberBetween(0.1, 100),
      1,
    )
    .option('--rate-error <share>', 'for --gate tail: largest relative error of the rates', numberBetween(0, 1), 0.05)
    .option('--time-error <share>', 'for --gate tail: largest relative error of batch times', numberBetween(0, 1), 0.05)
    .option(
      '--arrivals <process>',
      'for --gate tail, additional arrivals: on-off:<share on>:<mean s on>, or a trace, azure:<file.csv> or burstgpt:<file.csv>',
    )
}

/** @throws UsageError for an unknown arrival process, and for options of the other gate */
export function trafficOf(options: GateOptions): StatedTraffic {
  const { burstiness, rateError, timeError, arrivals } = options
  if (options.gate === 'latency') {
    if (burstiness !== 1) throw new UsageError('--burstiness is for --gate tail; add it')
    if (arrivals !== undefined) throw new UsageError('--arrivals is for --gate tail; add it')
    if (rateError !== 0.05) throw new UsageError('--rate-error is for --gate tail; add it')
    if (timeError !== 0.05) throw new UsageError('--time-error is for --gate tail; add it')
    return {}
  }
  if (options.latencyShare !== DEFAULT_LATENCY_SHARE) {
    throw new UsageError('--latency-share is for --gate latency; leave it away')
  }
  return { burstiness, rateError, timeError, ...(arrivals !== undefined && { arrivals: [processOf(arrivals)] }) }
}

function processOf(text: string): NonNullable<StatedTraffic['arrivals']>[number] {
  const [kind, ...rest] = text.split(':')
  const [share, seconds] = rest.map(Number) as [number, number]
  if (kind === 'on-off' && rest.length === 2 && share > 0 && share < 1 && seconds > 0 && seconds < Infinity) {
    return (ratePerS) => onOffArrivals(ratePerS, share, seconds)
  }
  const file = rest.join(':')
  if ((kind === 'azure' || kind === 'burstgpt') && file !== '') {
    const recorded = readTrace(file, kind === 'azure' ? parseAzureLlmTrace : parseBurstGptTrace)
    return (ratePerS) => faster(recorded, ratePerS / recorded.meanRatePerS)
  }
  throw new UsageError(
    `--arrivals: got '${text}', expected on-off:<share on, 0 to 1>:<mean seconds on>, azure:<file.csv> or burstgpt:<file.csv>`,
  )
}

function readTrace(file: string, parse: typeof parseAzureLlmTrace): ArrivalProcess {
  try {
    return fromAnywhere(parse(readFileSync(file, 'utf8')).timesMs)
  } catch (error) {
    throw new UsageError(`--arrivals: got '${file}', expected a trace that can be read (${(error as Error).message})`)
  }
}

/** Recorded arrivals, repeated endlessly from a place that the seed chooses, so that samples of a trace differ. */
function fromAnywhere(timesMs: ArrayLike<number>): ArrivalProcess {
  const recorded = replayedTimes(timesMs, { repeat: true })
  return {
    ...recorded,
    start: (seed) => {
      const arrivals = recorded.start(seed)
      let fromMs = 0
      for (let left = new SeededRandom(seed).integer(timesMs.length); left > 0; left--) fromMs = arrivals.nextMs()
      return { nextMs: () => arrivals.nextMs() - fromMs }
    },
  }
}

/** Cycles per request above which on/off traffic is taken as Poisson; the burstiness of its gaps is then at most 1.02. */
const MANY_CYCLES = 100

/** A Poisson process that is switched on and off, with exponential durations of both states. */
function onOffArrivals(ratePerS: number, shareOn: number, meanOnS: number): ArrivalProcess {
  const cycleMs = (1000 * meanOnS) / shareOn
  if (ratePerS * cycleMs * MANY_CYCLES < 1000) return poissonArrivals({ ratePerS })
  const on = { ratePerS: ratePerS / shareOn, meanDwellMs: shareOn * cycleMs }
  return markovModulatedArrivals({ states: [on, { ratePerS: 0, meanDwellMs: (1 - shareOn) * cycleMs }] })
}
