import type { PartitionOptions } from '@pctodl/greedy-partition'
import type { Prediction, Predictor } from '@pctodl/perf-model'
import { type Configuration, findGpuSpec, type GpuSpec, smClocksAt, type Tenant } from '@pctodl/platform'
import { referenceFolder } from '@pctodl/reference-data'
import { loadPublishedParameters, type PublishedPredictor, publishedSearch } from '../src/index.js'
import type { PublishedParameters } from '../src/predictor/published-parameters.js'
import type { PublishedSearchResult } from '../src/search/published-search.js'
import type { PublishedRun } from './published-cases.js'

/** Where the published enumeration of the reference predictor begins, MHz. */
const LOWEST_CLOCK_MHZ = 495

let loaded: PublishedParameters | undefined

/** Other parameters than those of the tests, which keep of most tree ensembles only the paths of the published search. */
export function searchWith(parameters: PublishedParameters): void {
  loaded = parameters
}

/** The published predictor of a case at one memory clock. */
export function publishedModelOf({ model, platform, dataset }: PublishedRun, memFreq: number): PublishedPredictor {
  loaded ??= loadPublishedParameters(referenceFolder('pctodl-params'))
  // Dealing out left-over share may go above 100 %.
  return loaded.predictor({ model, platform, dataset, memFreq, oversubscribe: true })
}

/** The published search, on the published predictor of a case. */
export function publishedOn(run: PublishedRun): PublishedSearchResult {
  const spec = findGpuSpec(run.platform)
  const { maxTenants, maxSharePercent, ...options } = run
  return publishedSearch((memClockMhz) => publishedModelOf(run, memClockMhz), {
    ...options,
    smClocksMhz: smClocksAt(spec, spec.performanceMemClocksMhz[0]!)!,
    ...(maxTenants === undefined ? {} : { maxTenants }),
    ...(maxSharePercent === undefined ? {} : { maxSharePercent }),
  })
}

/**
 * The published predictor as the enumeration behind the published optima used it: SM clocks from 495 MHz, and of all orders
 * of the same tenants the best one, since it treats the first tenant differently.
 */
export class PublishedBoard implements Predictor {
  readonly spec: GpuSpec
  readonly memClocksMhz: readonly number[]
  readonly #models: ReadonlyMap<number, PublishedPredictor>

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
    this.#models = new Map(run.memClocksMhz.map((clock) => [clock, publishedModelOf(run, clock)]))
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
    const at = this.#models.get(memClockMhz)!.prepare(
      tenants.map((tenant) => tenant.mpsPercent),
      tenants.map((tenant) => tenant.batchSize),
    )
    return clocks.findLast((clock) => at(clock).powerW <= powerCapW)
  }

  memoryBytes(): number {
    return 0
  }
}

/** The options under which `partition` and `exhaustive` search the same space as the published code. */
export function publishedSpaceOf(run: PublishedRun): PartitionOptions {
  return {
    models: run.model,
    powerCapW: run.powerCapW,
    minBatchPerPercent: 0.8,
    ...(run.model === 'vgg19' ? { maxBatchSize: 160 } : {}),
    ...(run.maxTenants === undefined ? {} : { maxTenants: run.maxTenants }),
    ...(run.maxSharePercent === undefined ? {} : { maxSharePercent: run.maxSharePercent }),
  }
}
