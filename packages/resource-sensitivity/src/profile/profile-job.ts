import { InvalidInputError } from '@pctodl/platform'
import { assertPositive, ProfiledRunError } from '../errors.js'
import { type CpuSearchOptions, searchCpus } from './cpu-search.js'
import { tableAt } from './job-profile.js'
import type { RunReport } from './run-report.js'
import { MATRIX_SCHEMA, matrixAxes, type SensitivityMatrix } from './sensitivity-matrix.js'

export interface ProfileOptions {
  readonly job: string
  readonly gpus: number
  readonly batchPerGpu: number
  readonly dataset: { readonly gb: number; readonly samples: number }
  /** Memory of the job itself, without its cache, GB. */
  readonly residentGb: number
  readonly storageMBps: number
  /** GPU-proportional share of the server for all GPUs of the job. */
  readonly fairShare: { readonly cpus: number; readonly memoryGb: number }
  /** Cached fractions of the data set, percent, ascending. */
  readonly memoryPercents: readonly number[]
  readonly search: Omit<CpuSearchOptions, 'gpus'>
  /** Run the job with a number of cores and all its data cached. */
  readonly run: (cpus: number) => Promise<RunReport>
  /** Memory read rate of a number of cores, GB/s. */
  readonly memoryGBps: (cpus: number) => Promise<number>
}

/**
 * Profiles a job: few runs over CPU cores with all data cached; the cache model computes every smaller memory size.
 *
 * @throws ProfiledRunError if a run fails twice; any other error of the run
 */
export async function profileJob(options: ProfileOptions): Promise<SensitivityMatrix> {
  const { job, gpus, batchPerGpu, dataset, residentGb, storageMBps, fairShare } = options
  /** Relative half width of the 95 % interval of each measured point that has one, by core count. */
  const spread = new Map<number, number>()
  const search = await searchCpus(
    async (cpus) => {
      const { iterationS } = await twice(() => options.run(cpus))
      const { mean, high } = iterationS
      if (high !== null) spread.set(cpus, high / mean - 1)
      return (batchPerGpu * gpus) / mean
    },
    { ...options.search, gpus },
  )
  // Estimated points inherit the uncertainty of the measurements around them.
  const maxSpread = Math.max(0, ...spread.values())
  const memGBps: Record<string, number> = {}
  for (const { cpus } of search.curve) memGBps[cpus] = await options.memoryGBps(cpus)
  const cells = search.curve.flatMap(({ cpus, throughput, low, high, measured }) =>
    options.memoryPercents.map((memPercent) => {
      const cacheGb = (memPercent / 100) * dataset.gb
      const epochAt = (samplesPerSecond: number) =>
        epochWithCache({
          ...{ datasetGb: dataset.gb, storageMBps, memoryGBps: memGBps[cpus]!, cacheGb },
          cachedEpochS: dataset.samples / samplesPerSecond,
        })
      const epoch = epochAt(throughput)
      const own = measured ? (spread.get(cpus) ?? 0) : maxSpread
      return {
        cpu: cpus,
        memGb: residentGb + cacheGb,
        memPercent,
        epochSeconds: epoch.epochS,
        samplesPerSecond: dataset.samples / epoch.epochS,
        samplesPerSecondLow: dataset.samples / epochAt(low / (1 + own)).epochS,
        samplesPerSecondHigh: dataset.samples / epochAt(high * (1 + own)).epochS,
        storageMBps: epoch.storageMBps,
        source: measured && memPercent === 100 ? ('measured' as const) : ('estimated' as const),
      }
    }),
  )
  const { cpus, memoryGb, at } = matrixAxes(cells)
  const table = cpus.map((cpu) => memoryGb.map((memory) => at(cpu, memory).samplesPerSecond))
  const fair = tableAt({ cpusPerGpu: cpus, memoryGbPerGpu: memoryGb }, table, fairShare.cpus, fairShare.memoryGb)
  return {
    ...{ schema: MATRIX_SCHEMA, job, gpus, batchPerGpu, dataset: { gb: dataset.gb, samples: dataset.samples } },
    ...{ residentGb, storageMBps, memGBps, fairShare: { cpu: fairShare.cpus, memGb: fairShare.memoryGb } },
    ...{ kneeCpu: search.kneeCpus, runs: search.runs.length },
    points: cells.map((cell) => ({ ...cell, normalised: cell.samplesPerSecond / fair })),
  }
}

/** A first failure may come from a busy machine; a second one is attributed to the job. */
async function twice(run: () => Promise<RunReport>): Promise<RunReport> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ProfiledRunError)) throw error
    return run()
  }
}

/** A job at one CPU count. */
export interface CacheModelInput {
  readonly datasetGb: number
  /** Read rate of the storage, MB/s. */
  readonly storageMBps: number
  /** Read rate of memory at this CPU count, GB/s. */
  readonly memoryGBps: number
  /** Seconds per epoch with the whole data set cached. */
  readonly cachedEpochS: number
  /** Memory for the data cache, GB; any excess over the data set is unused. */
  readonly cacheGb: number
}

export interface CacheModelResult {
  readonly epochS: number
  /** Minimum storage rate that does not slow the epoch, MB/s. */
  readonly storageMBps: number
}

/**
 * Epoch time with part of the data set in memory. A cache with a fixed set of items (MinIO, Mohan et al., VLDB '21) has
 * a hit rate equal to the fraction it holds, so the time to fetch an epoch is known. Fetching overlaps with computing;
 * reads from cache and storage are sequential.
 *
 * @throws InvalidInputError
 */
export function epochWithCache(input: CacheModelInput): CacheModelResult {
  const { datasetGb, storageMBps, memoryGBps, cachedEpochS, cacheGb } = input
  for (const [field, value] of Object.entries({ datasetGb, storageMBps, memoryGBps, cachedEpochS })) {
    assertPositive(field, value)
  }
  if (!(cacheGb >= 0)) throw new InvalidInputError('cacheGb', cacheGb, 'a number of at least 0')
  const cachedGb = Math.min(datasetGb, cacheGb)
  const missingGb = datasetGb - cachedGb
  if (missingGb === 0) return { epochS: cachedEpochS, storageMBps: 0 }
  const cacheS = cachedGb / memoryGBps
  const fetchS = cacheS + (missingGb * 1024) / storageMBps
  if (fetchS > cachedEpochS) return { epochS: fetchS, storageMBps }
  return { epochS: cachedEpochS, storageMBps: (missingGb * 1024) / (cachedEpochS - cacheS) }
}
