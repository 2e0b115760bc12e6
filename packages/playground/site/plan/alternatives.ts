import type { PerfModel } from '@pctodl/perf-model'
import { type Configuration, PctodlError, type Tenant } from '@pctodl/platform'
import { planClocks } from '@pctodl/scheduler'
import type { PlanQuestion } from './plan-question.js'

/** A simple configuration, at the clocks at which it holds the cap with the same risk as the plan. */
export interface Alternative {
  readonly name: string
  readonly configuration: Configuration
  /** Throughput, samples/s; null if no clocks keep the cap. */
  readonly throughput: number | null
  readonly powerW: number
}

const USUAL_BATCH = 32

/**
 * Returns the configurations that a user would choose without a planner: equal shares or, for a single network, one
 * process on the whole board.
 */
export function alternativesTo(model: PerfModel, question: PlanQuestion): Alternative[] {
  const names = question.networks.map((network) => network.model)
  const usual = model.spec.smCount >= 100 ? 8 : 4
  const count = names.length * Math.ceil(usual / names.length)
  const tenants = (many: number): Tenant[] =>
    Array.from({ length: many }, (_, i) => ({
      model: names[i % names.length]!,
      mpsPercent: 100 / many,
      batchSize: USUAL_BATCH,
    }))
  const found = [atPlannedClocks(model, question, `${count} equal shares, batch ${USUAL_BATCH}`, tenants(count))]
  if (names.length === 1) {
    found.push(atPlannedClocks(model, question, `one process, batch ${USUAL_BATCH}`, tenants(1)))
  }
  return found.filter((alternative) => alternative !== undefined)
}

function atPlannedClocks(
  model: PerfModel,
  { powerCapW, powerMarginW, memClockMhz, risk }: PlanQuestion,
  name: string,
  tenants: readonly Tenant[],
): Alternative | undefined {
  const capW = Math.min(powerCapW, model.spec.powerLimitW.max) - powerMarginW
  try {
    const memClocksMhz = memClockMhz === null ? undefined : [memClockMhz]
    const clocks = planClocks(model, tenants, capW, memClocksMhz, risk === 'mean' ? undefined : risk)
    const configuration = { tenants, ...clocks }
    const { throughput, powerW } = model.predict(configuration)
    const judgedW = risk === 'mean' ? powerW : model.upperPowerW(configuration, risk)
    return { name, configuration, throughput: judgedW <= capW ? throughput : null, powerW }
  } catch (error) {
    // A configuration that the predictor cannot predict is left out of the comparison.
    if (error instanceof PctodlError) return undefined
    throw error
  }
}
