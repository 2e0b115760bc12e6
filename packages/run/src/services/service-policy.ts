import { FeedbackClock, LatencyGovernor, LimitPolicy, type LimitPolicyOptions } from '@pctodl/baselines'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, InvalidInputError, type Service, type Tenant } from '@pctodl/platform'
import { type ClockPlan, type PlannedLoad, type PowerCapPolicy, planClocks, ServicesPolicy } from '@pctodl/scheduler'
import { equalShares, plannedShares } from './share-plans.js'

/** A service of a run, and the rate that policies expect. */
export interface ToldService {
  readonly service: Service
  /** Mean rate over the run, requests/s. */
  readonly meanPerS: number
  /** Rate that policies expect at the start, as a factor on `meanPerS`. Default 1. */
  readonly toldFactor?: number
  /** Time at which the service starts, s. Default 0. */
  readonly fromS?: number
}

export interface ToldServices {
  readonly services: readonly ToldService[]
}

/** The policies for services, in the order in which they run and are reported. */
export const serverPolicyNames = [
  'pctodl',
  'plan-limit-step',
  'plan-fixed-clock',
  'fixed-clock',
  'equal-shares',
  'latency-governor',
] as const

export type ServerPolicyName = (typeof serverPolicyNames)[number]

/** Plan of the shares, by policy, for the policies with one locked clock. The clock is found offline. */
export const lockedShares: Partial<Record<string, SharePlan>> = {
  'plan-fixed-clock': plannedShares,
  'fixed-clock': equalShares,
}

/** A function that plans shares, batches and clocks for services. */
export type SharePlan = (model: PerfModel, load: PlannedLoad) => Configuration

export interface ServerPolicyOptions {
  /** Performance model with which the policies plan. Its parameters are fitted to profiles. */
  readonly model: PerfModel
  /** Common factor on the rates of the task. Default 1. */
  readonly loadFactor?: number
  /** Clocks found offline, required for `plan-fixed-clock` and `fixed-clock`. */
  readonly fixedClocks?: ClockPlan
}

/** Creates a policy for one run. All policies know the services, their mean rates and the same predictor. */
export function createServerPolicy(
  name: ServerPolicyName,
  task: ToldServices,
  options: ServerPolicyOptions,
): PowerCapPolicy {
  const { model, fixedClocks } = options
  const start = (plan: SharePlan) => limitOptions(name, task, plan, options)
  switch (name) {
    case 'pctodl':
      return new ServicesPolicy({
        model,
        services: firstServices(task),
        expectedPerS: toldPerS(task, options),
      })
    case 'plan-limit-step':
      return new LimitPolicy(start(plannedShares))
    case 'equal-shares':
      return new LimitPolicy(start(equalShares))
    case 'plan-fixed-clock':
    case 'fixed-clock':
      if (fixedClocks === undefined) throw new InvalidInputError('fixedClocks', fixedClocks, 'clocks found offline')
      return fixedClockPolicy(start(lockedShares[name]!), fixedClocks)
    case 'latency-governor':
      return new LimitPolicy({ ...start(plannedShares), clock: new LatencyGovernor() })
  }
}

/**
 * Returns a policy that keeps one locked clock under any load. If the board's power limit cannot hold the cap, feedback
 * lowers the clock.
 */
export function fixedClockPolicy(options: LimitPolicyOptions, { memClockMhz, smClockMhz }: ClockPlan): PowerCapPolicy {
  const safe = (tenants: readonly Tenant[], powerCapW: number) => ({
    memClockMhz,
    smClockMhz: Math.min(smClockMhz, options.planClocks(tenants, powerCapW, [memClockMhz]).smClockMhz),
  })
  return new LimitPolicy({
    ...options,
    plan: (powerCapW, services) => {
      const { tenants } = options.plan(powerCapW, services)
      return { tenants, ...safe(tenants, powerCapW) }
    },
    planClocks: safe,
    clock: new FeedbackClock({ step: true, underLimit: smClockMhz }),
  })
}

/**
 * Returns the options of a policy that runs a plan under the board's power limit. If the limit cannot hold the cap,
 * feedback corrects the clock step by step.
 */
export function limitOptions(
  name: string,
  task: ToldServices,
  plan: SharePlan,
  options: ServerPolicyOptions,
): LimitPolicyOptions & { readonly services: readonly Service[] } {
  const { model } = options
  const told = toldPerS(task, options)
  const ratesOf = (services: readonly Service[]) => services.map((service) => told[service.name] ?? 1)
  return {
    name,
    spec: model.spec,
    services: firstServices(task),
    plan: (powerCapW, services) => plan(model, { services, ratesPerS: ratesOf(services), powerCapW }),
    planClocks: (tenants, powerCapW, memClocksMhz) => planClocks(model, tenants, powerCapW, memClocksMhz),
    clock: new FeedbackClock({ step: true }),
  }
}

/** Rates that policies expect at the start, by service, requests/s. */
function toldPerS({ services }: ToldServices, { loadFactor = 1 }: ServerPolicyOptions): Record<string, number> {
  return Object.fromEntries(
    services.map(({ service, meanPerS, toldFactor = 1 }) => [service.name, meanPerS * toldFactor * loadFactor]),
  )
}

/** Returns the services that are present at the start. */
function firstServices({ services }: ToldServices): readonly Service[] {
  return services.filter(({ fromS = 0 }) => fromS === 0).map(({ service }) => service)
}
