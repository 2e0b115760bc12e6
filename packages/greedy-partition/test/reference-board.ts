import { loadReferenceParameters, type Prediction, type Predictor, type ReferencePredictor } from '@pctodl/perf-model'
import { type Configuration, findGpuSpec, type GpuSpec, smClocksAt, type Tenant } from '@pctodl/platform'
import { type PublishedRun, referenceParametersFolder } from './shared-cases.js'

/** Where the published enumeration of the reference predictor begins, MHz. */
const LOWEST_CLOCK_MHZ = 495

let loaded: ReturnType<typeof loadReferenceParameters> | undefined

/** The published predictor of a case at one memory clock. */
export function referenceModelOf({ model, platform, dataset }: PublishedRun, memFreq: number): ReferencePredictor {
  loaded ??= loadReferenceParameters(referenceParametersFolder.pathname)
  // Dealing out left-over share may go above 100 %.
  return loaded.predictor({ model, platform, dataset, memFreq, oversubscribe: true })
}

/**
 * The published predictor as the enumeration behind the published optima used it: SM clocks from 495 MHz, and of all orders
 * of the same tenants the best one, since it treats the first tenant differently.
 */
export class ReferenceBoard implements Predictor {
  readonly spec: GpuSpec
  readonly memClocksMhz: readonly number[]
  readonly #models: ReadonlyMap<number, ReferencePredictor>

  constructor(run: PublishedRun) {
    const spec = findGpuSpec(run.platform)
    this.spec = {
      ...spec,
      clockStates: spec.clockStates.map(({ memClockMhz, smClocksMhz }) => ({
        memClockMhz,
        smClocksMhz: smClocksMhz.filter((clock) => clock >= LOWEST_CLOCK_MHZ),
      })),
    }
    this.memClocksMhz = run.memClocksMhz
    this.#models = new Map(run.memClocksMhz.map((clock) => [clock, referenceModelOf(run, clock)]))
  }

  predict({ tenants, smClockMhz, memClockMhz }: Configuration): Prediction {
    const model = this.#models.get(memClockMhz)!
    const shares = tenants.map((tenant) => tenant.mpsPercent)
    const batches = tenants.map((tenant) => tenant.batchSize)
    let best = model.predictAll(shares, batches, smClockMhz)
    for (let i = 1; i < tenants.length; i++) {
      if (shares[i] === shares[i - 1] && batches[i] === batches[i - 1]) continue
      const tried = model.predictAll(
        [shares[i]!, ...shares.toSpliced(i, 1)],
        [batches[i]!, ...batches.toSpliced(i, 1)],
        smClockMhz,
      )
      if (tried.throughput > best.throughput) best = tried
    }
    const throughput = best.throughput / tenants.length
    return {
      ...best,
      // It knows totals only; nothing here bounds a single tenant.
      tenants: batches.map((batch) => ({ throughput, latencyMs: (1e3 * batch) / throughput })),
    }
  }

  solveSmClock(tenants: readonly Tenant[], memClockMhz: number, powerCapW: number): number | undefined {
    const clocks = smClocksAt(this.spec, memClockMhz)!
    const numbers = this.#models.get(memClockMhz)!.predictClocks(
      tenants.map((tenant) => tenant.mpsPercent),
      tenants.map((tenant) => tenant.batchSize),
      clocks,
    )
    for (let i = clocks.length - 1; i >= 0; i--) if (numbers[4 * i + 3]! <= powerCapW) return clocks[i]
    return undefined
  }

  memoryBytes(): number {
    return 0
  }
}

/** The options under which `partition` and `exhaustive` search the same space as the published code. */
export function publishedSpaceOf(run: PublishedRun) {
  return {
    models: run.model,
    powerCapW: run.powerCapW,
    minBatchPerPercent: 0.8,
    ...(run.model === 'vgg19' ? { maxBatchSize: 160 } : {}),
    ...(run.maxTenants === undefined ? {} : { maxTenants: run.maxTenants }),
    ...(run.maxSharePercent === undefined ? {} : { maxSharePercent: run.maxSharePercent }),
  }
}
