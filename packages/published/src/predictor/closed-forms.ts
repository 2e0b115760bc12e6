import type { ClosedFormParameters, PowerParameters, ThroughputParameters } from './published-set.js'

/**
 * The Python code's closed forms, with its units: shares p in percent, batch sizes b, clocks in MHz, utilisations in
 * percent. Values are clamped only where the Python code clamps them, so a utilisation may be below 0 or above 100.
 */

/** SM utilisation of a single tenant, percent. */
export function smBase(
  { lambda_sm, gamma_sm, beta_sm }: ClosedFormParameters['sm_base'],
  p: number,
  b: number,
): number {
  return 100 * Math.tanh((lambda_sm * Math.log(b + 1e-8) + beta_sm) / Math.max(p, 1) ** gamma_sm)
}

/** Memory utilisation of a single tenant, percent. It is below 0 at batch size 1 in most parameter sets. */
export function memBase(parameters: ClosedFormParameters['mem_base'], p: number, b: number): number {
  const { phi_mem, alpha_mem, lambda_mem, beta_mem } = parameters
  const share = Math.min(1, Math.max(1e-6, p / 100))
  return phi_mem * share ** alpha_mem * Math.tanh(lambda_mem * Math.log(b + 1e-8) + beta_mem)
}

/**
 * SM utilisation of several tenants, percent. The published parameters are fitted with this formula. The published
 * predictor never uses it, because the file that would enable it does not exist.
 *
 * @param own SM utilisation of each tenant alone, percent
 * @param reference SM utilisation of a tenant with a share of 40 % and the first tenant's batch size, percent
 */
export function smSystem(
  { alpha, beta, kappa }: ClosedFormParameters['sm_system'],
  own: Float64Array,
  count: number,
  reference: number,
): number {
  let sum = 0
  for (let i = 0; i < count; i++) sum += own[i]!
  const mean = sum / (count + 1e-6)
  const excess = Math.min(1, Math.max(0, (mean - reference) / (100 - reference + 1e-6)))
  const line = alpha * mean + beta
  const limit = line + ((100 - line) * Math.tanh(kappa * excess)) / Math.tanh(kappa)
  let logIdle = 0
  for (let i = 0; i < count; i++) {
    const part = Math.min(1, Math.max(0, own[i]! / (limit + 1e-6)))
    logIdle += Math.log(1 - part + 1e-10)
  }
  return limit * (1 - Math.exp(logIdle))
}

/** Contention term, in percent, that is added to the mean memory utilisation of several tenants. */
export function memInterference(
  { k1, k2, alpha, beta, mu, tau }: ClosedFormParameters['mem_system'],
  shareSum: number,
  batchSum: number,
  count: number,
): number {
  const meanShare = shareSum / (count + 1e-6)
  const meanBatch = batchSum / (count + 1e-6)
  let slope: number
  if (meanBatch <= tau) slope = k1 * meanBatch + k2
  else {
    const continuity = k1 * tau + k2 - alpha * (1 - Math.exp(-beta * tau))
    slope = alpha * (1 - Math.exp(-beta * meanBatch)) + mu * (meanBatch - tau) + continuity
  }
  return meanShare * slope * (count - 1)
}

/** Throughput per percent of memory utilisation, samples/s. */
export function throughputPerUtilisation(parameters: ThroughputParameters, meanBatch: number): number {
  const { kappa_a, kappa_b, batch_aware_kappa } = parameters
  return batch_aware_kappa ? kappa_a * Math.log(meanBatch + 1e-8) + kappa_b : kappa_b
}

/**
 * Throughput at an SM clock, samples/s, given the throughput at the reference clock. If the fitted throughput at the
 * minimum clock is below 20 % of the throughput at the reference clock, a formula that falls to zero is used instead.
 */
export function scaleThroughput(parameters: ThroughputParameters, atReference: number, smClockMhz: number): number {
  const { gamma_t, T_start, f_ref, f_min } = parameters
  const x = Math.min(1, Math.max(0, (smClockMhz - f_min) / (f_ref - f_min)))
  if (T_start < 0.2 * atReference) return atReference * x ** (gamma_t / 2)
  return T_start + (atReference - T_start) * x ** gamma_t
}

/** Board power at an SM clock, W, given the dynamic power at the reference clock. */
export function scalePower(parameters: PowerParameters, dynamicAtReferenceW: number, smClockMhz: number): number {
  const { delta_3, delta_2, delta_1, delta_0 } = parameters.static
  const { gamma_p, P_base, f_ref, f_min } = parameters.dynamic
  const f = smClockMhz
  const staticW = delta_3 * f ** 3 + delta_2 * f ** 2 + delta_1 * f + delta_0
  const x = Math.min(1, Math.max(0, (f - f_min) / (f_ref - f_min)))
  return staticW + P_base + (dynamicAtReferenceW - P_base) * x ** gamma_p
}
