import type { ServicePrediction } from '@pctodl/perf-model/serving'
import type { GpuSpec, Service } from '@pctodl/platform'
import { LARGEST_BATCH_SIZE } from '../services/plan-problem.js'
import type { FeasibleServicePlan, PlanBinds } from '../services/plan-result.js'
import { stoppedWords } from './report.js'
import { DEFAULT_MAX_BATCH_SIZE } from './services-file.js'
import type { ServicesCall } from './services-options.js'
import { newTable } from './table.js'

/** Text report of a plan for services. */
export function formatPlan(
  spec: GpuSpec,
  { services, ratesPerS, withoutMaxBatchSize, options }: ServicesCall,
  plan: FeasibleServicePlan,
  elapsedMs: number,
): string {
  const { configuration, prediction, admittedPerS, binds, bound } = plan
  const table = newTable([
    'service',
    'network',
    'tenants',
    'share %',
    'batch',
    'requests/s',
    'p99 ms',
    'of ms',
    'in time %',
  ])
  services.forEach((service, i) => {
    const own = configuration.tenants.filter((tenant) => tenant.service === service.name)
    const predicted = prediction.services[i]!
    table.push([
      service.name,
      service.model,
      own.length,
      own[0]!.mpsPercent,
      own[0]!.batchSize,
      ofRate(admittedPerS[i]!, ratesPerS[i]!),
      msOf(predicted, admittedPerS[i]!),
      service.objective.p99Ms,
      admittedPerS[i] === 0 ? '-' : (100 * predicted.attainment).toFixed(1),
    ])
  })
  const gap = bound === undefined ? '' : `; by the model no plan is more than ${(100 * bound.gap).toFixed(0)} % better`
  return [
    `${services.map(({ name }) => name).join(', ')} on ${spec.name}, power cap ${options.powerCapW} W, ${options.objective}`,
    ...(plan.boardLimitW === undefined
      ? []
      : [`the board takes at most ${plan.boardLimitW} W, which is held in the place of the cap`]),
    table.toString(),
    ...batchNotes(services, withoutMaxBatchSize),
    `clocks      SM ${configuration.smClockMhz} MHz, memory ${configuration.memClockMhz} MHz`,
    `power       ${prediction.powerW.toFixed(1)} W, ${plan.marginW.toFixed(1)} W below the cap`,
    ...(options.objective === 'max-load' ? [`load        ${plan.loadFactor.toFixed(2)} of the rates`] : []),
    `limit       ${limitWords(binds)}${gap}`,
    `search      ${plan.evaluations} layouts in ${elapsedMs.toFixed(0)} ms; stopped because ${stoppedWords[plan.stoppedBecause]}`,
  ].join('\n')
}

/** Notes on batch limits that differ from the user's input. */
function batchNotes(services: readonly Service[], unsaid: readonly string[]): string[] {
  const larger = services.filter(({ maxBatchSize }) => maxBatchSize > LARGEST_BATCH_SIZE).map(({ name }) => name)
  return [
    ...(unsaid.length > 0
      ? [`batches     at most ${DEFAULT_MAX_BATCH_SIZE} of ${unsaid.join(', ')}: no maxBatchSize is given`]
      : []),
    ...(larger.length > 0
      ? [`batches     at most ${LARGEST_BATCH_SIZE} of ${larger.join(', ')}: none larger are planned`]
      : []),
  ]
}

function msOf({ p99Ms }: ServicePrediction, admittedPerS: number): string {
  return admittedPerS === 0 ? '-' : p99Ms.toFixed(1)
}

function ofRate(admittedPerS: number, ratePerS: number): string {
  if (admittedPerS >= ratePerS * (1 - 1e-9)) return ratePerS.toFixed(0)
  return `${admittedPerS.toFixed(0)} of ${ratePerS.toFixed(0)}`
}

function limitWords(binds: PlanBinds): string {
  if (binds.what === 'objective') return `the objective of ${(binds as { service: Service['name'] }).service}`
  return {
    'power-cap': 'the power cap',
    'lowest-clock': 'the lowest clock',
    nothing: 'none: all requests are let in',
  }[binds.what]
}
