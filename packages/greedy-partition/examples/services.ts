import { planServices } from '@pctodl/greedy-partition/services'
import { loadPerfModel } from '@pctodl/perf-model'
import type { Service } from '@pctodl/platform'

const search: Service = {
  name: 'search',
  model: 'resnet50',
  objective: { p99Ms: 40 },
  weight: 1,
  maxBatchSize: 64,
  maxQueueDelayMs: 0,
}
const ads: Service = { ...search, name: 'ads', model: 'vgg19', objective: { p99Ms: 100 }, weight: 3 }

/** Describes the plan that answers the requests of two services with minimum power. */
export function planRequests(searchPerS: number, adsPerS: number, powerCapW: number): string {
  const rates = [searchPerS, adsPerS]
  const plan = planServices(loadPerfModel('A100'), [search, ads], rates, { objective: 'min-power', powerCapW })
  if (!plan.feasible) return plan.message
  const { tenants, smClockMhz } = plan.configuration
  const shares = tenants.map(({ service, mpsPercent, batchSize }) => `${service} ${mpsPercent} % x ${batchSize}`)
  const late = plan.prediction.services.map(({ p99Ms }) => `${p99Ms.toFixed(0)} ms`)
  return `${shares.join(', ')} at ${smClockMhz} MHz: p99 ${late.join(' and ')}, ${plan.prediction.powerW.toFixed(0)} W`
}
