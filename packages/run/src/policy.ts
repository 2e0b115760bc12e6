import {
  BatchDvfsPolicy,
  DirectCapPolicy,
  equalTenants,
  FeedbackClock,
  LimitPolicy,
  MorakPolicy,
  PowerCapOnlyPolicy,
  PublishedPolicy,
} from '@pctodl/baselines'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, InvalidInputError, type Tenant } from '@pctodl/platform'
import { PctodlPolicy, type PowerCapPolicy, planClocks, planPartition } from '@pctodl/scheduler'
import type { Experiment } from './experiment.js'

export type { Experiment } from './experiment.js'

/** A policy, with notes on what it could not do on its board. */
export type NotedPolicy = PowerCapPolicy & { readonly notes?: readonly string[] }

/**
 * Creates the policy of one run, with the predictor of its board.
 *
 * @throws UnknownNameError for a network without parameters; InvalidInputError for a memory clock that the board does
 * not have
 */
export function policyOf(predictor: PerfModel, experiment: Experiment): NotedPolicy {
  const { model, variant, powerMarginW, sharePercentStep, tenants, memClockMhz } = experiment
  const { spec } = predictor
  if (memClockMhz !== undefined && !predictor.memClocksMhz.includes(memClockMhz)) {
    throw new InvalidInputError(
      '--mem-clock',
      memClockMhz,
      `one of ${predictor.memClocksMhz.join(', ')} on ${spec.name}`,
    )
  }
  const memClocks = memClockMhz === undefined ? {} : { memClocksMhz: [memClockMhz] }
  const plan = (powerCapW: number): Configuration =>
    planPartition(predictor, { model, powerCapW, powerMarginW, sharePercentStep, ...memClocks })
  const fixed = tenants && { tenants, memClockMhz: memClockMhz ?? predictor.memClocksMhz[0]! }
  const clocksOf = (tenants: readonly Tenant[], powerCapW: number) =>
    planClocks(predictor, tenants, powerCapW - powerMarginW, memClocks.memClocksMhz)
  const baseline = { spec, model, variant, planClocks: clocksOf }
  const holding = (name: string, tenants: readonly Tenant[]) =>
    new LimitPolicy({
      name,
      spec,
      planClocks: clocksOf,
      plan: (powerCapW) => ({ tenants, ...clocksOf(tenants, powerCapW) }),
    })
  switch (experiment.algorithm) {
    case 'pctodl':
      return new PctodlPolicy({
        predictor,
        model,
        powerMarginW,
        ...(experiment.hardwareLimit ? {} : { hardwareLimitPercent: null }),
        shadow: experiment.shadow && {},
        ...(fixed ? { fixed } : {}),
        partition: { sharePercentStep, ...memClocks },
      })
    case 'reference':
      return new PublishedPolicy({ predictor, model })
    case 'static-best':
      return new LimitPolicy({
        name: 'static-best',
        spec,
        plan,
        planClocks: clocksOf,
        clock: new FeedbackClock({ underLimit: 'planned' }),
      })
    case 'morak':
      return new MorakPolicy(baseline)
    case 'batchdvfs':
      return new BatchDvfsPolicy(baseline)
    case 'directcap':
      if (variant === 'tuned') return new LimitPolicy({ name: 'directcap-tuned', spec, plan, planClocks: clocksOf })
      return new DirectCapPolicy({
        spec,
        model,
        variant,
        scheduled: experiment.scheduled,
        plan: fixed ? () => fixed : plan,
      })
    case 'powercap':
      if (variant === 'tuned') return holding('powercap-tuned', equalTenants(spec, [model], 1, 64))
      return new PowerCapOnlyPolicy({ spec, model })
    case 'equal-split':
      return holding('equal-split', equalTenants(spec, [model]))
  }
}
