import { assertJobProfile, type JobProfile, type ModelClass } from './job-profile.js'

/** A model described by its pipeline's stage rates on one GPU. */
export interface ModelledRates {
  readonly model: string
  readonly modelClass: ModelClass
  /** Samples per second of the GPU. */
  readonly gpuRate: number
  /** Samples per second that one CPU core prepares. */
  readonly ratePerCpu: number
  readonly batch: number
  readonly datasetGb: number
  readonly sampleKb: number
  /** Storage rate per GPU, MB/s. */
  readonly storageMBps: number
  readonly residentGb: number
}

const cpuCounts = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24]
/** GPU-proportional share at which the throughput is 1. */
const fair = { cpus: 3, memoryGb: 62.5 }
const cachedParts = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]

/**
 * Throughput table of a pipeline with overlapping stages: the slowest of GPU, CPU cores and storage sets the pace, and
 * a cache that holds a fixed fraction of the data set saves that fraction of the storage reads.
 */
export function modelledProfile(rates: ModelledRates): JobProfile {
  const { gpuRate, ratePerCpu, datasetGb, sampleKb, storageMBps, residentGb } = rates
  const rate = (cpus: number, memoryGb: number) => {
    const missing = 1 - Math.min(1, Math.max(0, memoryGb - residentGb) / datasetGb)
    return Math.min(
      gpuRate,
      ratePerCpu * cpus,
      missing === 0 ? Number.POSITIVE_INFINITY : (storageMBps * 1024) / (sampleKb * missing),
    )
  }
  const memoryGbPerGpu = [
    ...new Set([...cachedParts.map((part) => residentGb + part * datasetGb), fair.memoryGb]),
  ].sort((a, b) => a - b)
  const base = rate(fair.cpus, fair.memoryGb)
  const best = Math.min(gpuRate, ratePerCpu * cpuCounts.at(-1)!)
  const [cpus, memoryGb] = cpuCounts
    .flatMap((c) => memoryGbPerGpu.map((m) => [c, m] as const))
    .find(([c, m]) => rate(c, m) >= 0.9 * best)!
  const profile: JobProfile = {
    model: rates.model,
    modelClass: rates.modelClass,
    cpusPerGpu: cpuCounts,
    memoryGbPerGpu,
    throughput: cpuCounts.map((c) => memoryGbPerGpu.map((m) => rate(c, m) / base)),
    iterationS: rates.batch / base,
    demand: { cpus, memoryGb },
    speedupAtDemand: rate(cpus, memoryGb) / base,
    spreadPenalty: 1,
  }
  assertJobProfile(profile)
  return profile
}

/**
 * Six invented models of the three classes, to try the scheduler with. Their demands resemble image, language and
 * speech jobs but are not measured. Profile your own jobs for real use.
 */
export const exampleProfiles: readonly JobProfile[] = (
  [
    // Model, class, samples/s of the GPU and of a core, batch, GB of data, KB of a sample, MB/s of storage, GB of the
    // process.
    ['image-small', 'image', 2400, 250, 512, 120, 100, 60, 8],
    ['image-large', 'image', 900, 250, 256, 120, 100, 60, 8],
    ['image-detection', 'image', 60, 9, 32, 45, 200, 60, 10],
    ['language-translation', 'language', 400, 5000, 128, 8, 2, 60, 6],
    ['language-large', 'language', 90, 3000, 32, 16, 4, 60, 12],
    ['speech', 'speech', 110, 24, 64, 180, 900, 60, 6],
  ] as const
).map(([model, modelClass, gpuRate, ratePerCpu, batch, datasetGb, sampleKb, storageMBps, residentGb]) =>
  modelledProfile({ model, modelClass, gpuRate, ratePerCpu, batch, datasetGb, sampleKb, storageMBps, residentGb }),
)
