import {
  LatencyGovernorPolicy,
  QueueGovernorPolicy,
  ServicesBatchDvfsPolicy,
  type ServicesStart,
  ServicesUnderLimitPolicy,
} from '@pctodl/baselines'
import type { PerfModel } from '@pctodl/perf-model'
import { type Service, UnknownNameError } from '@pctodl/platform'
import { type PlannedLoad, type PowerCapPolicy, planWithModel, ServicesPolicy } from '@pctodl/scheduler'
import type { ServerTask } from './server-tasks.js'
import { equalShares, leanShares, parvaShares, plannedShares } from './share-plans.js'

/** The policies of the scenario, in the order in which they run and are reported. */
export const serverPolicyNames = [
  'pctodl',
  'equal-shares',
  'batchdvfs',
  'limit-agent',
  'queue-governor',
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
}

/** A power agent looks at its cap so often, ms. */
const AGENT_PERIOD_MS = 15_000

/** A fresh policy for one run; all know the services, their mean rates and the same predictor. */
export function createServerPolicy(
  name: Exclude<ServerPolicyName, 'oracle'>,
  task: Pick<ServerTask, 'services'>,
  { model, loadFactor = 1 }: ServerPolicyOptions,
): PowerCapPolicy {
  const { spec } = model
  const meanPerS = (service: Service) =>
    loadFactor * (task.services.find((each) => each.service.name === service.name)?.meanPerS ?? 1)
  const { services } = startOf(task)
  const loadOf = (services: readonly Service[], powerCapW: number): PlannedLoad => ({
    services,
    ratesPerS: services.map(meanPerS),
    powerCapW,
  })
  const start = (plan: (model: PerfModel, load: PlannedLoad) => ServicesStart) => ({
    spec,
    services,
    plan: (services: readonly Service[], powerCapW: number) => plan(model, loadOf(services, powerCapW)),
  })
  switch (name) {
    case 'pctodl':
      return new ServicesPolicy({
        model,
        services,
        plan: (load, objective) =>
          objective === 'most-load' ? plannedShares(model, load) : planWithModel(model)(load, objective),
        expectedPerS: Object.fromEntries(task.services.map(({ service }) => [service.name, meanPerS(service)])),
      })
    case 'equal-shares':
      return new ServicesUnderLimitPolicy({ name, ...start(equalShares) })
    case 'batchdvfs':
      return new ServicesBatchDvfsPolicy(start(equalShares))
    case 'limit-agent':
      return new ServicesUnderLimitPolicy({ name, ...start(plannedShares), periodMs: AGENT_PERIOD_MS })
    case 'queue-governor':
      return new QueueGovernorPolicy(start(plannedShares))
    case 'latency-governor':
      return new LatencyGovernorPolicy(start(leanShares))
    case 'parva-shares':
      return new ServicesUnderLimitPolicy({ name, ...start(parvaShares) })
  }
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
