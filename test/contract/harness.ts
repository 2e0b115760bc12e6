/**
 * Stories of a board under a cap, told through public interfaces only, and what an observer with a meter of its own makes of them.
 * A story fixes what happens; a policy is what is judged.
 */
import { type Fault, SimulatedDesk, SimulatedGpu, SimulatedTenants } from '@pctodl/gpu-sim'
import { mean, SeededRandom } from '@pctodl/numerics'
import { loadPerfModel, type Predictor } from '@pctodl/perf-model'
import {
  type Arrivals,
  type CapStep,
  type Configuration,
  capAt,
  capSchedule,
  type Service,
  type ServiceCounters,
  unaccountedRequests,
  VirtualClock,
} from '@pctodl/platform'
import {
  type Action,
  PctodlPolicy,
  type PctodlPolicyOptions,
  type PowerCapPolicy,
  type RunEvent,
  type RunOptions,
  runPolicy,
  ServicesPolicy,
  type ServicesPolicyOptions,
} from '@pctodl/scheduler'

/** Who asks for how much of what. */
export interface Demand {
  readonly service: Service
  /** Requests/s at a time, ms. */
  readonly ratePerS: (timeMs: number) => number
  /** What the policy is told in advance. Default: the rate at the begin. */
  readonly expectedPerS?: number
}

export interface Story {
  readonly name: string
  readonly board: string
  readonly caps: readonly CapStep[]
  readonly seconds: number
  /** Network of tenants that run batch after batch. Default resnet50; not used where there are demands. */
  readonly model?: string
  readonly demands?: readonly Demand[]
  /**
   * The services that are there from a time on, s: by name, or with other terms under the same name. Default: all, from the begin.
   */
  readonly present?: readonly (readonly [fromS: number, services: readonly (string | Service)[]])[]
  readonly faults?: readonly Fault[]
  readonly seed?: number
  /** Options of the loop beside those of the story. */
  readonly run?: Partial<RunOptions>
}

export type PolicyOf = (story: Story) => PowerCapPolicy

/** One tenth of a second as the observer saw it. */
export interface Tenth {
  readonly timeMs: number
  readonly capW: number
  /** Mean over the tenth, in the watts in which the board's limits are set. */
  readonly powerW: number
  /** The same, true. */
  readonly trueW: number
  /** Samples/s that the board truly does. */
  readonly throughput: number
  readonly smClockMhz: number
  readonly counters: readonly ServiceCounters[]
}

/** What a story came to. Times exclude the first ten seconds after the begin, when tenants start. */
export interface Told {
  readonly tenths: readonly Tenth[]
  readonly events: readonly RunEvent[]
  readonly gpu: SimulatedGpu
  readonly clock: VirtualClock
}

const START_MS = 10_000

export const fixed = (powerCapW: number): CapStep[] => [{ atMs: 0, powerCapW }]
export const steps = (everyS: number, ...capsW: number[]): CapStep[] =>
  capsW.map((powerCapW, i) => ({ atMs: 1000 * everyS * i, powerCapW }))

/** Requests by chance, at a rate that changes. */
export function arrivalsAt(ratePerS: (timeMs: number) => number, seed: number): Arrivals {
  const random = new SeededRandom(seed)
  let timeMs = 0
  return {
    nextMs() {
      timeMs += (-1000 * Math.log(1 - random.uniform())) / ratePerS(timeMs)
      return timeMs
    },
  }
}

/** pctodl as it is by default. */
export const pctodl: PolicyOf = (story) => pctodlWith()(story)

export const pctodlWith =
  (options: Partial<PctodlPolicyOptions> = {}, services: Partial<ServicesPolicyOptions> = {}): PolicyOf =>
  ({ board, model = 'resnet50', demands, present }) => {
    const predictor = loadPerfModel(board.replace(/~.*/, ''))
    if (demands === undefined) {
      return new PctodlPolicy({
        predictor,
        ...(options.models === undefined ? { model } : {}),
        shadow: false,
        ...options,
      })
    }
    const expected = demands.map(
      ({ service, ratePerS, expectedPerS = ratePerS(0) }) => [service.name, expectedPerS] as const,
    )
    return new ServicesPolicy({
      model: predictor,
      services: servicesOf(present?.[0]?.[1], demands),
      expectedPerS: Object.fromEntries(expected),
      ...services,
    })
  }

function servicesOf(listed: readonly (string | Service)[] | undefined, demands: readonly Demand[]): Service[] {
  const all = demands.map(({ service }) => service)
  return listed?.map((each) => (typeof each === 'string' ? all.find(({ name }) => name === each)! : each)) ?? all
}

/** Live through a story. */
export async function tell(story: Story, policyOf: PolicyOf = pctodl): Promise<Told> {
  const { board, caps, seconds, demands, present, faults = [], seed = 1, run = {} } = story
  const lists = (present ?? [[0, undefined]]).map(([fromS, listed]) => ({
    atMs: 1000 * fromS,
    services: servicesOf(listed, demands ?? []),
  }))
  const clock = new VirtualClock()
  const gpu = new SimulatedGpu(board, { clock, seed, faults: { faults } })
  const demandOf = (name: string) => demands!.find(({ service }) => service.name === name)!
  const desk =
    demands &&
    new SimulatedDesk(gpu, ({ name, objective }) => ({
      arrivals: arrivalsAt(demandOf(name).ratePerS, seed + name.length),
      maxQueued: 1000,
      shedAfterMs: 2 * objective.p99Ms,
    }))
  const tenths: Tenth[] = []
  const events: RunEvent[] = []
  let before = { metered: 0, energy: 0, timeMs: 0 }
  await runPolicy({
    gpu,
    pool: new SimulatedTenants(gpu),
    clock,
    policy: policyOf(story),
    caps: capSchedule(caps),
    iterations: Math.ceil(seconds / 5),
    ...(desk ? { services: { desk, steps: lists } } : {}),
    ...run,
    onSample(timeMs, ...seen) {
      const { meteredEnergyJ, energyJ, throughput, smClockMhz } = gpu.truth()
      const spanS = (timeMs - before.timeMs) / 1000
      tenths.push({
        timeMs,
        capW: capAt(capSchedule(caps), Math.max(0, timeMs - 1)),
        powerW: (meteredEnergyJ - before.metered) / spanS,
        trueW: (energyJ - before.energy) / spanS,
        throughput,
        smClockMhz,
        counters: desk?.counters() ?? [],
      })
      before = { metered: meteredEnergyJ, energy: energyJ, timeMs }
      run.onSample?.(timeMs, ...seen)
    },
    onEvent(event) {
      events.push(event)
      run.onEvent?.(event)
    },
  })
  return { tenths, events, gpu, clock }
}

/** Part of what was seen. Without an end: to the end. */
export function between({ tenths }: Told, fromS: number, toS: number = Number.POSITIVE_INFINITY): readonly Tenth[] {
  return tenths.filter(({ timeMs }) => timeMs > 1000 * fromS && timeMs <= 1000 * toS)
}

export const meanW = (part: readonly Tenth[]): number => mean(part.map(({ powerW }) => powerW))
export const meanThroughput = (part: readonly Tenth[]): number => mean(part.map(({ throughput }) => throughput))
/** Mean power over mean cap. */
export const used = (part: readonly Tenth[]): number => meanW(part) / mean(part.map(({ capW }) => capW))

export const ofType = <T extends RunEvent['type']>(
  { events }: Told,
  type: T,
): Extract<RunEvent, { readonly type: T }>[] =>
  events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type)

/** What a power cap is judged by. */
export interface CapJudgement {
  /** Share of the time in which the mean of a second is more than 1 % above the cap, the second after a step down apart. */
  readonly aboveShare: number
  readonly longestAboveMs: number
  /** Highest mean of a second over the cap. */
  readonly peak: number
}

export function judgeCap(told: Told, fromMs: number = START_MS): CapJudgement {
  const { tenths } = told
  let above = 0
  let count = 0
  let run = 0
  let longest = 0
  let peak = 0
  let steppedMs = Number.NEGATIVE_INFINITY
  tenths.forEach(({ timeMs, capW }, i) => {
    if (i > 0 && capW < tenths[i - 1]!.capW) steppedMs = timeMs
    if (timeMs < fromMs || timeMs < steppedMs + 1000) return
    const ratio = mean(tenths.slice(Math.max(0, i - 9), i + 1).map(({ powerW }) => powerW)) / capW
    count++
    peak = Math.max(peak, ratio)
    if (ratio > 1.01) {
      above++
      longest = Math.max(longest, ++run)
    } else run = 0
  })
  return { aboveShare: above / Math.max(1, count), longestAboveMs: 100 * longest, peak }
}

/** From a time until the mean of a second has come to stay in a part of the cap for five seconds, s; Infinity where it never does. */
export function settledAfterS(told: Told, fromS: number, least = 0.95): number {
  const part = between(told, fromS)
  let since: number | undefined
  for (let i = 9; i < part.length; i++) {
    const ratio = used(part.slice(i - 9, i + 1))
    if (ratio < least || ratio > 1.01) since = undefined
    else since ??= part[i]!.timeMs
    if (since !== undefined && part[i]!.timeMs - since >= 5000) return since / 1000 - fromS
  }
  return Number.POSITIVE_INFINITY
}

/** Requests of a service that were answered in time among those that were decided, 0..1. */
export function attainment(told: Told, service: string, fromS: number, toS: number = Number.POSITIVE_INFINITY): number {
  const [from, to] = edges(told, service, fromS, toS)
  const inTime = ({ completed, late }: ServiceCounters) => completed - late
  const decided = ({ completed, shed, failed }: ServiceCounters) => completed + shed + failed
  return (inTime(to) - inTime(from)) / (decided(to) - decided(from))
}

/** Requests of a service of one kind between two times. */
export function counted(told: Told, service: string, what: 'shed' | 'completed' | 'arrived', fromS: number): number {
  const [from, to] = edges(told, service, fromS)
  return to[what] - from[what]
}

/** The counters of a service at two times. */
export function edges(told: Told, service: string, fromS: number, toS?: number): [ServiceCounters, ServiceCounters] {
  const part = between(told, fromS, toS)
  const of = ({ counters }: Tenth) => counters.find((each) => each.service === service)!
  return [of(part[0]!), of(part.at(-1)!)]
}

/** Requests that the counters of any time have lost or invented, and counters that fell. */
export function unaccounted({ tenths }: Told): readonly unknown[] {
  const rising = ['arrived', 'completed', 'late', 'shed', 'failed'] as const
  return tenths.flatMap(({ counters }, i) =>
    counters.filter((now) => {
      const before = tenths[i - 1]?.counters.find(({ service }) => service === now.service)
      return unaccountedRequests(now) !== 0 || rising.some((what) => before !== undefined && now[what] < before[what])
    }),
  )
}

/** Answered in time a second, by weight: what a policy for services is worth. */
export function weightedPerS(told: Told, demands: readonly Demand[], fromS: number): number {
  const spanS = told.tenths.at(-1)!.timeMs / 1000 - fromS
  const inTime = ({ completed, late }: ServiceCounters) => completed - late
  return demands.reduce((sum, { service: { name, weight } }) => {
    const [from, to] = edges(told, name, fromS)
    return sum + (weight * (inTime(to) - inTime(from))) / spanS
  }, 0)
}

/** Clocks, limits and tenants that were asked for in a part of a run, a minute. */
export function changesPerMinute(told: Told, fromS: number): number {
  const asked = ofType(told, 'action').filter(({ timeMs }) => timeMs > 1000 * fromS)
  const seconds = told.tenths.at(-1)!.timeMs / 1000 - fromS
  return (60 * asked.length) / seconds
}

/** Fixed tenants at a fixed clock, with the board's own limit at the cap: the least that any policy must be worth. */
export const atClock =
  (configuration: Configuration): PolicyOf =>
  () => {
    const action = (powerLimitW: number): Action => ({ ...configuration, powerLimitW })
    return {
      name: 'fixed-clock',
      start: action,
      onCapChange: (powerLimitW) => ({ powerLimitW }),
      onSample: () => undefined,
      onWindow: () => undefined,
    }
  }

/** A predictor that is wrong about power by a factor, and about nothing else. */
export function misjudging(predictor: Predictor, factor: number): Predictor {
  return {
    spec: predictor.spec,
    memClocksMhz: predictor.memClocksMhz,
    predict: (configuration) => {
      const prediction = predictor.predict(configuration)
      return { ...prediction, powerW: factor * prediction.powerW }
    },
    solveSmClock: (tenants, memClockMhz, capW) => predictor.solveSmClock(tenants, memClockMhz, capW / factor),
    memoryBytes: (tenant) => predictor.memoryBytes(tenant),
  }
}
