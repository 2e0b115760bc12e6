import { GaussianProcess, mean, normalCdf, normalDensity, populationDeviation } from '@pctodl/numerics'
import type { Predictor } from '@pctodl/perf-model'
import { type Configuration, InvalidInputError, smClocksAt } from '@pctodl/platform'
import { type Candidate, keyOf, neighboursOf, restartCostSamples } from './neighbourhood.js'
import type { Decision, WindowObservation } from './policy.js'

export interface ShadowOptions {
  /**
   * Number of undisturbed windows between two trials. Default 3; it doubles with each failed search or trial, up to 16
   * times the value given.
   */
  readonly interval?: number
}

/** Measured state from which a search starts. */
export interface ShadowContext {
  readonly present: Candidate
  /** Power up to which the controller may raise the clock, W. */
  readonly targetW: number
  readonly memoryBytes: number
  /** Time for which a restarted tenant completes nothing, s. */
  readonly restartS: number
}

/**
 * Approximate d ln(throughput) / d ln(power) along the SM clock. It scales throughput from measured power to the target
 * power, which differ by a few percent.
 */
const ELASTICITY = 0.7
/** Smallest predicted relative gain for which a trial is started. */
const MIN_GAIN = 0.003
/** Step by which shares change, percent. */
const SHARE_STEP = 5
/** Maximum time in which a trial must regain the samples lost in restarts, s. */
const PAY_BACK_S = 60
/** Standard deviations of the predictor's relative errors, and of the noise of one window's measurement. */
const errorSd = { throughput: 0.03, power: 0.025, noise: 0.004 }
const MAX_MEASUREMENTS = 100
/**
 * Probabilities that a candidate must reach: of holding the cap at the lowest clock, and of a gain (without and with
 * restarts).
 */
const MIN_FEASIBLE = 0.95
const MIN_BETTER = { free: 0.6, restarting: 0.9 }
/**
 * Windows of a trial. The first still contains the old configuration and the second is for settling; two more are
 * judged.
 */
const SKIPPED_WINDOWS = 2
const JUDGED_WINDOWS = 2
const MAX_BACKOFF = 16
/** A trial is reverted if its throughput is below this share of the throughput before it. */
const HURT = 0.999

interface Measurement {
  readonly configuration: Configuration
  /** Errors of the predictor: ln(measured / predicted). */
  readonly throughput: number
  readonly power: number
}

/**
 * Searches for a better configuration near the running one. Gaussian processes correct the predictor's measured errors.
 * The candidate with the highest expected improvement is tried for a few windows, and reverted if throughput falls. The
 * optimizer only proposes changes; the policy carries them out.
 */
export class ShadowOptimizer {
  readonly #predictor: Predictor
  readonly #interval: number
  readonly #measurements: Measurement[] = []
  readonly #failed = new Set<string>()
  readonly #decisions: Decision[] = []
  #trial: { readonly before: Candidate; readonly throughput: number; readonly key: string } | undefined
  /**
   * Throughput of each window in the present configuration after the first one, scaled to the target power, samples/s.
   */
  #recent: number[] = []
  #key = ''
  #backoff = 1
  #waited = 0

  /** @throws InvalidInputError with the name of the option */
  constructor(predictor: Predictor, options: ShadowOptions = {}) {
    const { interval = 3 } = options
    if (!(interval >= 1)) throw new InvalidInputError('shadow.interval', interval, 'a number of at least 1')
    this.#predictor = predictor
    this.#interval = interval
  }

  /** Discards measured throughput, which is not comparable across caps. The predictor's measured errors are kept. */
  capChanged(): void {
    this.#trial = undefined
    this.#recent = []
    this.#failed.clear()
    this.#backoff = 1
    this.#waited = 0
  }

  /**
   * Learns from a window, and judges a trial that is running.
   *
   * @param targetW power up to which the controller may raise the clock, W
   * @returns the configuration to return to if a trial has failed
   */
  observe(window: WindowObservation, targetW: number): Candidate | undefined {
    const { memClockMhz, smClockMhz, powerAverageW, throughput, validity = 'ok', tenants } = window
    if (tenants.some(({ failure }) => failure !== null)) return this.tenantFailed()
    if (window.reconfigured || validity !== 'ok' || !(throughput > 0) || tenants.length === 0) return undefined
    if (memClockMhz === null || smClockMhz === null || powerAverageW === null) return undefined
    // Uses the tenants that ran in the window; `applied` may already contain the next ones.
    const present = {
      tenants: tenants.map(({ tenant }) => tenant),
      memClockMhz: window.applied.memClockMhz ?? memClockMhz,
    }
    const key = keyOf(present)
    if (key !== this.#key) {
      this.#key = key
      this.#recent = []
      return undefined
    }
    const configuration = { ...present, smClockMhz }
    this.#recent.push(throughput * (targetW / powerAverageW) ** ELASTICITY)
    this.#waited++
    if (this.#predictor.memClocksMhz.includes(present.memClockMhz)) {
      const predicted = this.#predictor.predict(configuration)
      const errors = {
        throughput: Math.log(throughput / predicted.throughput),
        power: Math.log(powerAverageW / predicted.powerW),
      }
      this.#measurements.push({ configuration, ...errors })
      if (this.#measurements.length > MAX_MEASUREMENTS) this.#measurements.shift()
    }
    return this.#judgeTrial()
  }

  /** @returns the configuration to return to if a trial was running */
  tenantFailed(): Candidate | undefined {
    return this.#rollBack('a tenant failed', {})
  }

  /** @returns the configuration to try, if a search is due and finds one; otherwise undefined */
  idle(contextNow: () => ShadowContext | undefined): Candidate | undefined {
    if (this.#trial || this.#recent.length < 2 || this.#waited < this.#interval * this.#backoff) return undefined
    const context = contextNow()
    if (!context || keyOf(context.present) !== this.#key) return undefined
    this.#waited = 0
    const now = mean(this.#recent.slice(-3))
    const neighbours = neighboursOf(context.present, this.#predictor.memClocksMhz, SHARE_STEP)
    const best = this.#best(
      neighbours.filter((candidate) => !this.#failed.has(keyOf(candidate))),
      context,
      now,
    )
    if (!best) {
      this.#backoff = Math.min(MAX_BACKOFF, 2 * this.#backoff)
      this.#decide('shadow-none', `none of ${neighbours.length} neighbours promises a gain`, { throughput: now })
      return undefined
    }
    this.#trial = { before: context.present, throughput: now, key: keyOf(best.candidate) }
    const promise = `the best of ${neighbours.length} neighbours promises ${percent(best.throughput / now)} at the same power`
    this.#decide('shadow-try', promise, { ...best.candidate, throughputBefore: now, throughput: best.throughput })
    return best.candidate
  }

  takeDecisions(): Decision[] {
    return this.#decisions.splice(0)
  }

  /**
   * The candidate with the highest expected improvement (Jones, Schonlau and Welch 1998) among those that justify a
   * trial.
   */
  #best(
    candidates: readonly Candidate[],
    context: ShadowContext,
    now: number,
  ): { candidate: Candidate; throughput: number } | undefined {
    const { present, targetW, memoryBytes, restartS } = context
    const features = this.#measurements.map(({ configuration }) => featuresOf(configuration))
    const processOf = (quantity: 'throughput' | 'power') => {
      const process = new GaussianProcess({ amplitude: errorSd[quantity], noise: errorSd.noise })
      process.fit(
        features,
        this.#measurements.map((measurement) => measurement[quantity]),
      )
      return process
    }
    const [throughputErrors, powerErrors] = [processOf('throughput'), processOf('power')]
    const bytesOf = ({ tenants }: Candidate) =>
      tenants.reduce((sum, tenant) => sum + this.#predictor.memoryBytes(tenant), 0)
    const roomBytes = Math.max(0.95 * memoryBytes, bytesOf(present))
    let best: { candidate: Candidate; throughput: number; score: number } | undefined
    for (const candidate of candidates) {
      const { tenants, memClockMhz } = candidate
      if (bytesOf(candidate) > roomBytes) continue
      const clockAt = (watts: number) => this.#predictor.solveSmClock(tenants, memClockMhz, watts)
      const guessMhz = clockAt(targetW)
      if (guessMhz === undefined) continue
      const at = featuresOf({ ...candidate, smClockMhz: guessMhz })
      const [error, powerError] = [throughputErrors.predict(at), powerErrors.predict(at)]
      const ratio = Math.exp(powerError.mean)
      const smClockMhz = clockAt(targetW / ratio)
      if (smClockMhz === undefined) continue
      const lowestMhz = smClocksAt(this.#predictor.spec, memClockMhz)![0]!
      const lowestW = ratio * this.#predictor.predict({ ...candidate, smClockMhz: lowestMhz }).powerW
      if (normalCdf((targetW / lowestW - 1) / powerError.sd) < MIN_FEASIBLE) continue
      const predicted = this.#predictor.predict({ ...candidate, smClockMhz })
      const toTarget = (targetW / (ratio * predicted.powerW)) ** ELASTICITY
      const throughput = predicted.throughput * Math.exp(error.mean) * toTarget
      // The controller answers an error in power with another clock, which changes throughput by about the same ratio.
      const sd = throughput * Math.hypot(error.sd, powerError.sd)
      const gain = throughput - now
      const z = gain / sd
      const better = normalCdf(z)
      const lost = restartCostSamples(present.tenants, tenants, now, restartS) * (2 - better)
      const worthATrial = better >= (lost > 0 ? MIN_BETTER.restarting : MIN_BETTER.free) && lost <= gain * PAY_BACK_S
      if (gain <= MIN_GAIN * now || !worthATrial) continue
      const score = gain * better + sd * normalDensity(z)
      if (score > (best?.score ?? 0)) best = { candidate, throughput, score }
    }
    return best
  }

  #judgeTrial(): Candidate | undefined {
    if (this.#trial?.key !== this.#key || this.#recent.length < SKIPPED_WINDOWS - 1 + JUDGED_WINDOWS) return undefined
    const before = this.#trial.throughput
    const after = mean(this.#recent.slice(-JUDGED_WINDOWS))
    const reason = `it measured ${percent(after / before)}`
    if (after < HURT * before) return this.#rollBack(reason, { after })
    this.#trial = undefined
    this.#waited = 0
    this.#backoff = 1
    this.#decide('shadow-kept', reason, { before, after })
    return undefined
  }

  #rollBack(reason: string, details: Record<string, unknown>): Candidate | undefined {
    if (!this.#trial) return undefined
    const { before, throughput, key } = this.#trial
    this.#trial = undefined
    this.#waited = 0
    this.#failed.add(key)
    this.#backoff = Math.min(MAX_BACKOFF, 2 * this.#backoff)
    this.#decide('shadow-rolled-back', reason, { before: throughput, ...details })
    return before
  }

  #decide(kind: string, reason: string, details: Record<string, unknown>): void {
    this.#decisions.push({ kind, reason, ...details })
  }
}

const percent = (ratio: number) => `${ratio < 1 ? '' : '+'}${(100 * (ratio - 1)).toFixed(1)} %`

/** Features on which the predictor's errors depend, each divided by its correlation length. */
function featuresOf({ tenants, smClockMhz, memClockMhz }: Configuration): number[] {
  const batches = tenants.map(({ batchSize }) => Math.log2(batchSize))
  const shares = tenants.map(({ mpsPercent }) => Math.log2(mpsPercent))
  return [
    Math.log2(tenants.length) / 1.5,
    mean(batches) / 1.5,
    populationDeviation(batches),
    populationDeviation(shares),
    smClockMhz / 500,
    memClockMhz / 4000,
  ]
}
