import {
  BatchDvfsOriginalPolicy,
  BatchDvfsPolicy,
  batchDvfsFigures,
  DirectCapPolicy,
  equalTenants,
  FeedbackClock,
  LimitPolicy,
  MeasuredPolicy,
  MorakPolicy,
  morakFigures,
  PowerCapOnlyPolicy,
  PublishedPolicy,
  standardBatchLadder,
} from '@pctodl/baselines'
import { MAX_BATCH_SIZE, type PerfModel, type Predictor } from '@pctodl/perf-model'
import { type Configuration, given, InvalidInputError, smClocksAt, snapDown, type Tenant } from '@pctodl/platform'
import {
  type ClockPlan,
  PctodlPolicy,
  type PowerCapPolicy,
  planClocks,
  planPartition,
  type WindowObservation,
} from '@pctodl/scheduler'
import type { Experiment } from './experiment.js'
import type { PolicyName } from './policy-names.js'

export type { Experiment } from './experiment.js'
export { type PolicyName, policyNames } from './policy-names.js'
export {
  createServerPolicy,
  fixedClockPolicy,
  limitOptions,
  lockedShares,
  type ServerPolicyName,
  type SharePlan,
  serverPolicyNames,
  type ToldService,
} from './services/service-policy.js'
export { borne, equalShares, plannedShares } from './services/share-plans.js'

/** A policy with notes, for example that its board refused a setting. */
export type NotedPolicy = PowerCapPolicy & { readonly notes?: readonly string[] }

/** Tenants that run batch after batch under a cap, and the information that policies get about them. */
export interface PolicyOptions {
  /** Predictor of the board. The policies maximize its total throughput. */
  readonly predictor: Predictor
  /** The networks, each with its latency objective if it has one. */
  readonly models: readonly { readonly model: string; readonly latencySloMs?: number }[]
  /** Caps of the run, W. Tuned baselines choose tenants for the lowest cap. */
  readonly capsW: readonly number[]
  /** Plans stay this far below the cap, W. Default 0. */
  readonly powerMarginW?: number
  /** Granularity of planned shares, percent. Default 5. */
  readonly sharePercentStep?: number
  /** Memory clocks to plan for, MHz. Default: all memory clocks of the board. */
  readonly memClocksMhz?: readonly number[]
  /** Tenants instead of a plan, for pctodl and directcap. */
  readonly tenants?: readonly Tenant[]
  /** Whether pctodl sets the board's power limit to the cap. Default true. */
  readonly hardwareLimit?: boolean
  /** Whether pctodl searches for better tenants while it runs. Default false. */
  readonly shadow?: boolean
  /** For `measured-60s`: lists of tenants to measure, and the score of a window (default: its throughput). */
  readonly candidates?: readonly (readonly Tenant[])[]
  readonly score?: (window: WindowObservation) => number
  /** For `static-best`: returns the configuration that is best under a cap by the simulator's true model. */
  readonly bestWithin?: (powerCapW: number) => Configuration
}

/** Batch sizes from which tuned baselines choose. */
const batchSizes = standardBatchLadder.filter((batchSize) => batchSize <= MAX_BATCH_SIZE)

/**
 * Creates a policy by its name. Policies with a plan hold the cap and the latency objectives. Other policies halve
 * batches that take too long.
 *
 * @throws UnknownNameError for a network without parameters or figures; InvalidInputError if the policy needs an option
 *   that is missing
 */
export function policyNamed(name: PolicyName, options: PolicyOptions): NotedPolicy {
  const { predictor, models, capsW, powerMarginW = 0, memClocksMhz } = options
  const { spec } = predictor
  const lowestCapW = Math.min(...capsW)
  const names = models.map(({ model }) => model)
  const model = names[0]!
  const limited = models.some(({ latencySloMs }) => latencySloMs !== undefined)
  const latencyMs = (of: string) => models.find((each) => each.model === of)?.latencySloMs
  const partition = {
    ...(limited ? { latencyPercentile: 'p99' as const } : {}),
    ...given({ sharePercentStep: options.sharePercentStep }),
    ...(memClocksMhz ? { memClocksMhz } : {}),
  }
  const plan = (powerCapW: number) => planPartition(predictor, { ...partition, models, powerCapW, powerMarginW })
  const clocksFor = (tenants: readonly Tenant[], powerCapW: number) =>
    planClocks(predictor, tenants, powerCapW - powerMarginW, memClocksMhz)
  const fixed = options.tenants && {
    tenants: options.tenants,
    memClockMhz: (memClocksMhz ?? predictor.memClocksMhz)[0]!,
  }
  const variant = variantOf(name)
  const baseline = { spec, model, variant, planClocks: clocksFor }
  const limit = { name, spec, planClocks: clocksFor, ...(limited ? { latencyMs } : {}) }
  const holding = (tenants: readonly Tenant[]) => ({
    ...limit,
    plan: (powerCapW: number) => ({ tenants, ...clocksFor(tenants, powerCapW) }),
  })
  const feedback = () => ({ clock: new FeedbackClock({ step: true }) })
  /** Predicted throughput of tenants, samples/s; 0 if they miss the latency objective. */
  const throughputInTime = (tenants: readonly Tenant[], clocks: ClockPlan) => {
    const predicted = predictor.predict({ tenants, ...clocks })
    const inTime = predicted.tenants.every(
      ({ p99LatencyMs, latencyMs: ms }, i) => (p99LatencyMs ?? ms) <= (latencyMs(tenants[i]!.model) ?? Infinity),
    )
    return inTime ? predicted.throughput : 0
  }
  const best = (candidates: readonly (readonly Tenant[])[]) => {
    const score = (tenants: readonly Tenant[]) => throughputInTime(tenants, clocksFor(tenants, lowestCapW))
    return candidates.reduce((most, each) => (score(each) > score(most) ? each : most))
  }
  // Untuned baselines choose batches at default clocks, as a benchmark without a cap would measure them. Tuned ones use
  // the clocks planned for the lowest cap.
  const withinLatency = (ladder: readonly number[], sharesPercent: readonly number[]) => {
    if (!limited) return ladder
    const fitting = ladder.filter((batchSize) => {
      if (batchSize > MAX_BATCH_SIZE) return false
      const tenants = sharesPercent.map((mpsPercent) => ({ model, mpsPercent, batchSize }))
      const clocks = variant === 'tuned' ? clocksFor(tenants, lowestCapW) : defaultClocks(predictor)
      return throughputInTime(tenants, clocks) > 0
    })
    return fitting.length > 0 ? fitting : ladder.slice(0, 1)
  }
  switch (name) {
    case 'pctodl':
      return new PctodlPolicy({
        predictor,
        models,
        partition,
        powerMarginW,
        ...(options.hardwareLimit === false ? { hardwareLimitPercent: null } : {}),
        shadow: options.shadow === true && {},
        ...(fixed ? { fixed } : {}),
      })
    case 'reference':
      return new PublishedPolicy({ predictor, model })
    case 'plan-limit-step':
      return new LimitPolicy({ ...limit, ...feedback(), plan })
    case 'plan-limit':
      return new LimitPolicy({ ...limit, plan })
    case 'plan-locked':
      return new LimitPolicy({ ...limit, plan, clock: new FeedbackClock({ underLimit: 'planned' }) })
    case 'equal-split-step':
      return new LimitPolicy({ ...holding(equalTenants(spec, names)), ...feedback() })
    case 'equal-split':
      return new LimitPolicy(holding(equalTenants(spec, names)))
    case 'measured-60s':
      return new MeasuredPolicy({
        ...limit,
        candidates: needed('candidates', options.candidates),
        ...(options.score ? { score: options.score } : {}),
      })
    case 'static-best':
      return new LimitPolicy({
        ...limit,
        plan: needed('bestWithin', options.bestWithin),
        clock: new FeedbackClock({ underLimit: 'planned' }),
      })
    case 'morak':
    case 'morak-tuned':
    case 'morak-published': {
      const equal = () =>
        [1, 2, 3, 4, 5, 6, 7, 8].flatMap((count) =>
          withinLatency(batchSizes, Array(count).fill(100 / count)).map((batchSize) =>
            equalTenants(spec, names, count, batchSize),
          ),
        )
      const shares = variant === 'tuned' ? { sharesPercent: best(equal()).map(({ mpsPercent }) => mpsPercent) } : {}
      const figures = { ...morakFigures(model, variant), ...shares }
      if (!limited) return new MorakPolicy({ ...baseline, figures })
      const startBatch = withinLatency(figures.batchLadder, figures.sharesPercent).at(-1)!
      return new MorakPolicy({ ...baseline, figures: { ...figures, sloMs: latencyMs(model)! }, startBatch })
    }
    case 'batchdvfs':
    case 'batchdvfs-tuned':
    case 'batchdvfs-published': {
      const figures = batchDvfsFigures(model)
      const batchLadder = withinLatency(figures.batchLadder, [100])
      return new BatchDvfsPolicy({ ...baseline, figures: { ...figures, batchLadder } })
    }
    case 'batchdvfs-original': {
      const batchLadder = limited ? { batchLadder: withinLatency(batchDvfsFigures(model).batchLadder, [100]) } : {}
      return new BatchDvfsOriginalPolicy({ spec, model, ...batchLadder })
    }
    case 'directcap':
    case 'directcap-published': {
      const form = variant === 'published' ? { variant, scheduled: capsW.length > 1 } : {}
      return new DirectCapPolicy({ spec, model, plan: fixed ? () => fixed : plan, ...form })
    }
    case 'powercap':
      return new PowerCapOnlyPolicy({ spec, model: names, ...(limited ? { latencyMs } : {}) })
    case 'powercap-tuned': {
      const alone = batchSizes.map((batchSize) => equalTenants(spec, names, names.length, batchSize))
      return new LimitPolicy(holding(best(alone)))
    }
  }
}

/** Returns the variant of a published baseline. The ending of its name determines it. */
function variantOf(name: PolicyName): 'fair' | 'tuned' | 'published' {
  if (name.endsWith('-tuned')) return 'tuned'
  return name.endsWith('-published') ? 'published' : 'fair'
}

function needed<T>(field: string, value: T | undefined): T {
  if (value === undefined) throw new InvalidInputError(field, value, 'what this policy needs, as in bench-runner')
  return value
}

/** Default clocks of a board: the highest memory clock and the boost clock. */
function defaultClocks({ memClocksMhz, spec }: Predictor): ClockPlan {
  const memClockMhz = Math.max(...memClocksMhz)
  return { memClockMhz, smClockMhz: snapDown(smClocksAt(spec, memClockMhz)!, spec.boostClockMhz)! }
}

/**
 * Creates the policy of one run, with the predictor of its board.
 *
 * @throws UnknownNameError for a network without parameters; InvalidInputError for a memory clock that the board does
 * not have
 */
export function policyOf(predictor: PerfModel, experiment: Experiment): NotedPolicy {
  const { algorithm, model, memClockMhz, tenants, ...others } = experiment
  const { spec, memClocksMhz } = predictor
  if (memClockMhz !== undefined && !memClocksMhz.includes(memClockMhz)) {
    throw new InvalidInputError('--mem-clock', memClockMhz, `one of ${memClocksMhz.join(', ')} on ${spec.name}`)
  }
  return policyNamed(algorithm, {
    ...others,
    predictor,
    models: [{ model }],
    ...(memClockMhz === undefined ? {} : { memClocksMhz: [memClockMhz] }),
    ...(tenants ? { tenants } : {}),
  })
}
