import { given, UsageError } from '@pctodl/command-line'
import type { Service } from '@pctodl/platform'
import type { ServiceGoal, ServicePlanOptions } from '../services/plan-options.js'
import { commonOptions, type RawOptions } from './raw-options.js'
import { readServicesFile } from './services-file.js'

/** Checked options of a call with `--services`. */
export interface ServicesCall {
  readonly services: readonly Service[]
  readonly ratesPerS: readonly number[]
  readonly withoutMaxBatchSize: readonly string[]
  readonly options: ServicePlanOptions
}

export const serviceGoals: readonly ServiceGoal[] = ['min-power', 'max-load', 'max-value']

/** Options that only apply to saturated tenants. */
const forTenantsOnly = [
  'model',
  'risk',
  'latencySlo',
  'latencyPercentile',
  'minThroughput',
  'maxShare',
  'maxDistance',
  'maxBatch',
  'explain',
]
/** Options that only apply to services. */
const forServicesOnly = ['rateMargin', 'latencyMargin', 'burstiness']

/**
 * Check the options of a call that plans for services.
 *
 * @param wasGiven whether the call contains an option, by its name in camel case
 * @returns undefined without `--services`
 * @throws UsageError for options that exclude each other, or a file that cannot be read
 */
export function servicesCall(raw: RawOptions, wasGiven: (option: string) => boolean): ServicesCall | undefined {
  const { services: file, objective = file === undefined ? 'few-processes' : 'min-power' } = raw
  const goal = serviceGoals.find((each) => each === objective)
  const stray = (file === undefined ? forServicesOnly : forTenantsOnly).filter(wasGiven).map(spelled)
  if (file === undefined) {
    if (goal !== undefined) stray.unshift(`--objective ${goal}`)
    if (stray.length > 0) throw new UsageError(`${stray.join(', ')}: only with --services`)
    return undefined
  }
  if (goal === undefined) stray.unshift(`--objective ${objective}`)
  if (goal === undefined || stray.length > 0)
    throw new UsageError(`--services: plans for services know no ${stray.join(', ')}`)
  return {
    ...readServicesFile(file),
    options: {
      objective: goal,
      bound: true,
      ...commonOptions(raw),
      ...given({
        timeBudgetMs: raw.budgetMs,
        now: raw.budgetMs === undefined ? undefined : () => performance.now(),
        budgetEvaluations: raw.budgetEvaluations,
        rateMargin: raw.rateMargin,
        latencyMargin: raw.latencyMargin,
        burstiness: raw.burstiness,
      }),
    },
  }
}

function spelled(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
