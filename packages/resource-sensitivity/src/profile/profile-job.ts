import { ProfiledRunError } from '../errors.js'
import { epochWithCache } from './cache-model.js'
import { type CpuSearchOptions, type CpuSearchResult, searchCpus } from './cpu-search.js'
import { tableAt } from './job-profile.js'
import type { RunReport } from './run-report.js'
import { MATRIX_SCHEMA, matrixAxes, type SensitivityMatrix, type SensitivityPoint } from './sensitivity-matrix.js'

export interface MatrixInput {
  readonly job: string
  readonly gpus: number
  readonly batchPerGpu: number
  readonly dataset: { readonly gb: number; readonly samples: number }
  /** Memory of the job itself, without its cache, GB. */
  readonly residentGb: number
  readonly storageMBps: number
  /** Memory read rate by core count, GB/s, for every core count of the search. */
  readonly memoryGBps: ReadonlyMap<number, number>
  /** GPU-proportional share of the server for all GPUs of the job. */
  readonly fairShare: { readonly cpus: number; readonly memoryGb: number }
  /** Cached fractions of the data set, percent, ascending. */
  readonly memoryPercents: readonly number[]
  /** Samples per second over cores, all data cached. */
  readonly search: CpuSearchResult
  /** Relative half width of each measured point's 95 % interval, by core count; 0 if unknown. */
  readonly measuredSpread: ReadonlyMap<number, number>
}

/** Every cell of the matrix: measured and estimated core counts at every memory size, by the cache model. */
export function buildMatrix(input: MatrixInput): SensitivityMatrix {
  const { dataset, search, storageMBps } = input
  // Estimated points inherit the uncertainty of the measurements around them.
  const spread = Math.max(0, ...input.measuredSpread.values())
  const cells = search.curve.flatMap((estimate) =>
    input.memoryPercents.map((memPercent) => {
      const cacheGb = (memPercent / 100) * dataset.gb
      const epochAt = (samplesPerSecond: number) =>
        epochWithCache({
          datasetGb: dataset.gb,
          storageMBps,
          memoryGBps: input.memoryGBps.get(estimate.cpus)!,
          cachedEpochS: dataset.samples / samplesPerSecond,
          cacheGb,
        })
      const { epochS, storageMBps: needed } = epochAt(estimate.throughput)
      const own = estimate.measured ? (input.measuredSpread.get(estimate.cpus) ?? 0) : spread
      return {
        cpu: estimate.cpus,
        memGb: input.residentGb + cacheGb,
        memPercent,
        epochSeconds: epochS,
        samplesPerSecond: dataset.samples / epochS,
        samplesPerSecondLow: dataset.samples / epochAt(Math.max(estimate.low * (1 - own), Number.MIN_VALUE)).epochS,
        samplesPerSecondHigh: dataset.samples / epochAt(estimate.high * (1 + own)).epochS,
        storageMBps: needed,
        source: estimate.measured && memPercent === 100 ? ('measured' as const) : ('estimated' as const),
      }
    }),
  )
  const fair = fairThroughput(cells, input)
  return {
    schema: MATRIX_SCHEMA,
    job: input.job,
    gpus: input.gpus,
    batchPerGpu: input.batchPerGpu,
    dataset: { gb: dataset.gb, samples: dataset.samples },
    residentGb: input.residentGb,
    storageMBps,
    memGBps: Object.fromEntries([...input.memoryGBps].map(([cpus, rate]) => [String(cpus), rate])),
    fairShare: { cpu: input.fairShare.cpus, memGb: input.fairShare.memoryGb },
    kneeCpu: search.kneeCpus,
    runs: search.runs.length,
    points: cells.map((cell) => ({ ...cell, normalised: cell.samplesPerSecond / fair })),
  }
}

function fairThroughput(cells: readonly Omit<SensitivityPoint, 'normalised'>[], { fairShare }: MatrixInput): number {
  const { cpus, memoryGb, at } = matrixAxes({ points: cells.map((cell) => ({ ...cell, normalised: 1 })) })
  const table = cpus.map((cpu) => memoryGb.map((memory) => at(cpu, memory).samplesPerSecond))
  return tableAt({ cpusPerGpu: cpus, memoryGbPerGpu: memoryGb }, table, fairShare.cpus, fairShare.memoryGb)
}

export interface ProfileOptions extends Omit<MatrixInput, 'search' | 'measuredSpread' | 'memoryGBps'> {
  readonly search: Omit<CpuSearchOptions, 'gpus'>
  /** Run the job with a number of cores and all its data cached. */
  readonly run: (cpus: number) => Promise<RunReport>
  /** Memory read rate of a number of cores, GB/s. */
  readonly memoryGBps: (cpus: number) => Promise<number>
}

/**
 * Profile a job: few runs over CPU cores, everything else is computed.
 *
 * @throws ProfiledRunError if a run fails twice; any other error of the run
 */
export async function profileJob(options: ProfileOptions): Promise<SensitivityMatrix> {
  const { gpus, batchPerGpu } = options
  const spread = new Map<number, number>()
  const search = await searchCpus(
    async (cpus) => {
      const { iterationS } = await twice(() => options.run(cpus))
      if (iterationS.low !== null && iterationS.high !== null) {
        spread.set(cpus, (iterationS.high - iterationS.low) / 2 / iterationS.mean)
      }
      return (batchPerGpu * gpus) / iterationS.mean
    },
    { ...options.search, gpus },
  )
  const memoryGBps = new Map<number, number>()
  for (const { cpus } of search.curve) memoryGBps.set(cpus, await options.memoryGBps(cpus))
  return buildMatrix({ ...options, search, memoryGBps, measuredSpread: spread })
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
