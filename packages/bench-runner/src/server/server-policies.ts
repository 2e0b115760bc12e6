import {
  FeedbackClock,
  LatencyGovernor,
  LimitPolicy,
  type LimitPolicyOptions,
  ServicesBatchDvfsPolicy,
} from '@pctodl/baselines'
import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, InvalidInputError, type Service, type Tenant, UnknownNameError } from '@pctodl/platform'
import {
  type ClockPlan,
  type PlannedLoad,
  type PowerCapPolicy,
  planClocks,
  planWithModel,
  ServicesPolicy,
} from '@pctodl/scheduler'
import type { ServerTask } from './server-tasks.js'
import { equalShares, leanShares, parvaShares, plannedShares } from './share-plans.js'

/** The policies of the scenario, in the order in which they run and are reported. */
export const serverPolicyNames = [
  'pctodl',
  'equal-shares',
  'fixed-clock',
  'batchdvfs',
  'latency-governor',
  'parva-shares',
] as const

/** Beside them one that is told the arrivals and tries everything on the very board: a line to measure by, run only where it is named. */
export type ServerPolicyName = (typeof serverPolicyNames)[number] | 'oracle'

export interface ServerPolicyOptions {
  /** The predictor's own, from profiles. */
  readonly model: PerfModel
  /** Common factor on the rates of the task. Default 1. */
  readonly loadFactor?: number
  /** The clocks of `fixed-clock`, found offline with `bestFixedClocks`; needed there. */
  readonly fixedClocks?: ClockPlan
}

/** A fresh policy for one run; all know the services, their mean rates and the same predictor. */
export function createServerPolicy(
  name: Exclude<ServerPolicyName, 'oracle'>,
  task: Pick<ServerTask, 'services'>,
  { model, loadFactor = 1, fixedClocks }: ServerPolicyOptions,
): PowerCapPolicy {
  const { spec } = model
  const toldPerS = ({ name }: Service) => {
    const told = task.services.find(({ service }) => service.name === name)
    return told ? loadFactor * (told.toldFactor ?? 1) * told.meanPerS : 1
  }
  const { services } = startOf(task)
  const loadOf = (services: readonly Service[], powerCapW: number): PlannedLoad => ({
    services,
    ratesPerS: services.map(toldPerS),
    powerCapW,
  })
  const start = (plan: (model: PerfModel, load: PlannedLoad) => Configuration) => ({
    name,
    spec,
    services,
    plan: (powerCapW: number, services: readonly Service[]) => plan(model, loadOf(services, powerCapW)),
    planClocks: (tenants: readonly Tenant[], powerCapW: number, memClocksMhz?: readonly number[]) =>
      planClocks(model, tenants, powerCapW, memClocksMhz),
    clock: new FeedbackClock({ step: true }),
  })
  switch (name) {
    case 'pctodl':
      return new ServicesPolicy({
        model,
        services,
        plan: (load, objective) =>
          objective === 'most-load' ? plannedShares(model, load) : planWithModel(model)(load, objective),
        expectedPerS: Object.fromEntries(task.services.map(({ service }) => [service.name, toldPerS(service)])),
      })
    case 'equal-shares':
      return new LimitPolicy(start(equalShares))
    case 'fixed-clock':
      if (fixedClocks === undefined) throw new InvalidInputError('fixedClocks', fixedClocks, 'clocks found offline')
      return fixedClockPolicy(start(equalShares), fixedClocks)
    case 'batchdvfs':
      return new ServicesBatchDvfsPolicy(start(equalShares))
    case 'latency-governor':
      return new LimitPolicy({ ...start(leanShares), clock: new LatencyGovernor() })
    case 'parva-shares':
      return new LimitPolicy(start(parvaShares))
  }
}

/**
 * Tenants at one locked clock, whatever comes. Where the board's limit cannot hold the cap, a clock that keeps it, and feedback.
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

/** What is there at the begin. */
function startOf({ services }: Pick<ServerTask, 'services'>): { readonly services: readonly Service[] } {
  return { services: services.filter(({ fromS = 0 }) => fromS === 0).map(({ service }) => service) }
}

/** @throws UnknownNameError listing the policies that exist */
export function parseServerPolicies(text: string): ServerPolicyName[] {
  const names = text.split(',').flatMap((part): readonly ServerPolicyName[] => {
    const name = part.trim()
    if (name === 'all' || name === 'tuned') return serverPolicyNames
    const known = [...serverPolicyNames, 'oracle' as const].find((candidate) => candidate === name)
    if (!known)
      throw new UnknownNameError('policy of the server scenario', name, [...serverPolicyNames, 'oracle', 'all'])
    return [known]
  })
  return [...new Set(names)]
}
