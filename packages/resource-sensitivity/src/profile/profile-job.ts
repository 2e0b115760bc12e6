import { ProfiledRunError } from '../errors.js'
import { buildMatrix, type MatrixInput } from './build-matrix.js'
import { type CpuSearchOptions, searchCpus } from './cpu-search.js'
import type { RunReport } from './run-report.js'
import type { SensitivityMatrix } from './sensitivity-matrix.js'

export interface ProfileOptions extends Omit<MatrixInput, 'search' | 'measuredSpread' | 'memoryGBps'> {
  readonly search: Omit<CpuSearchOptions, 'gpus'>
  /** Run the job with so many cores and all its data cached. */
  readonly run: (cpus: number) => Promise<RunReport>
  /** Rate at which so many cores read memory, GB/s. */
  readonly memoryGBps: (cpus: number) => Promise<number>
}

/**
 * Profile one job: few runs over CPU cores, everything else by calculation.
 *
 * @throws ProfiledRunError where a run fails twice, and whatever the run throws besides
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

/** A failed run may have met a busy moment; one that fails again is the job's own. */
async function twice(run: () => Promise<RunReport>): Promise<RunReport> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ProfiledRunError)) throw error
    return run()
  }
}
