import { type SimulatedBoard, simulateSteadyState } from '@pctodl/gpu-sim'
import { quantile } from '@pctodl/numerics'
import type { PerfModel } from '@pctodl/perf-model'
import type { Configuration } from '@pctodl/platform'

/** A configuration with its true values, at the clock that really ran, and its prediction. */
export interface Judged {
  readonly configuration: Configuration
  readonly ran: { readonly throughput: number; readonly powerW: number }
  readonly predicted: ReturnType<PerfModel['predict']>
  /** Errors as ln(truth / prediction). */
  readonly throughput: number
  readonly power: number
}

/** Simulates and predicts the configurations that fit the board's memory. */
export function judged(truth: SimulatedBoard, model: PerfModel, configurations: readonly Configuration[]): Judged[] {
  const simulate = simulateSteadyState(truth)
  return configurations
    .filter((wanted) => fits(model, wanted))
    .map((wanted) => {
      const ran = simulate(wanted)
      const configuration = { ...wanted, smClockMhz: ran.smClockMhz }
      const predicted = model.predict(configuration)
      const throughput = Math.log(ran.throughput / predicted.throughput)
      return { configuration, ran, predicted, throughput, power: Math.log(ran.powerW / predicted.powerW) }
    })
}

export function fits(model: PerfModel, { tenants }: Pick<Configuration, 'tenants'>): boolean {
  const bytes = tenants.reduce((sum, tenant) => sum + model.memoryBytes(tenant), model.reservedMemoryBytes)
  return bytes <= model.spec.memoryBytes
}

/** Median and 95th percentile of the absolute errors as text, %. */
export function errorText(errors: readonly number[], digits = 1): string {
  const percent = errors.map((error) => 100 * Math.abs(error))
  return [0.5, 0.95].map((q) => quantile(percent, q).toFixed(digits)).join(' / ')
}
