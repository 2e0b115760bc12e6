import { normalQuantileOfTail, SeededRandom, seedFrom } from '@pctodl/numerics'
import type { Prediction, Predictor } from '@pctodl/perf-model'
import type { Configuration, GpuSpec, Tenant } from '@pctodl/platform'
import { SyntheticPredictor } from './synthetic-predictor.js'

const SD = 0.04

/**
 * A predictor whose power is wrong by a normal factor of its own for each kind of composition (its tenants' sizes to a factor of
 * two), and which knows how large such factors are, but not these. The truth is the synthetic board.
 */
export class MisledPredictor extends SyntheticPredictor {
  readonly #seed: number

  constructor(spec: GpuSpec, seed: number) {
    super(spec)
    this.#seed = seed
  }

  truth(configuration: Configuration): Prediction {
    return super.predict(configuration)
  }

  override predict(configuration: Configuration): Prediction {
    const truth = super.predict(configuration)
    const powerW = truth.powerW * Math.exp(-SD * this.#error(configuration.tenants))
    return { ...truth, powerW, powerSdW: SD * powerW }
  }

  override solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined {
    return super.solveSmClock(tenants, memClockMhz, powerCapW * Math.exp(SD * this.#error(tenants)))
  }

  /** Logarithm of true over predicted power, in standard deviations. */
  #error(tenants: readonly Tenant[]): number {
    const mean = (of: (tenant: Tenant) => number) =>
      Math.round(tenants.reduce((sum, tenant) => sum + Math.log2(of(tenant)), 0) / tenants.length)
    const kind = [mean((tenant) => tenant.mpsPercent), mean((tenant) => tenant.batchSize), Math.log2(tenants.length)]
    return new SeededRandom(seedFrom(this.#seed, ...kind.map((value) => Math.round(value)))).normal()
  }
}

/** The same predictor with the tail of one configuration, without regard to the number of candidates. */
export class Uncounted implements Predictor {
  constructor(readonly of: MisledPredictor) {}
  get spec(): GpuSpec {
    return this.of.spec
  }
  get memClocksMhz(): readonly number[] {
    return this.of.memClocksMhz
  }
  predict(configuration: Configuration): Prediction {
    return this.of.predict(configuration)
  }
  solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined {
    return this.of.solveSmClock(tenants, memClockMhz, powerCapW)
  }
  memoryBytes(tenant: Tenant): number {
    return this.of.memoryBytes(tenant)
  }
  upperPowerW(configuration: Configuration): number {
    const { powerW, powerSdW } = this.predict(configuration)
    return powerW + normalQuantileOfTail(0.1) * powerSdW!
  }
}
