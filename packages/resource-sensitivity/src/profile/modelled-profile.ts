import { assertJobProfile, type JobProfile, type ModelClass } from './job-profile.js'

/** A model described by the rates of the stages that its samples pass, on one GPU. */
export interface ModelledRates {
  readonly model: string
  readonly modelClass: ModelClass
  /** Samples per second that the GPU computes. */
  readonly gpuRate: number
  /** Samples per second that one CPU core prepares. */
  readonly ratePerCpu: number
  readonly batch: number
  /** Size of the data set and of one sample. */
  readonly datasetGb: number
  readonly sampleKb: number
  /** Storage rate for each GPU, MB/s. */
  readonly storageMBps: number
  /** Memory of the process itself, GB. */
  readonly residentGb: number
}

const cpuCounts = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24]
const cachedParts = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1]

/**
 * The throughput table of a pipeline of stages that overlap: the slowest of GPU, CPU cores and storage sets the pace, and a
 * cache of a fixed part of the data set takes that part of the reads off the storage.
 *
 * @param fair GPU-proportional share at which the throughput is 1
 */
export function modelledProfile(rates: ModelledRates, fair = { cpus: 3, memoryGb: 62.5 }): JobProfile {
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
 * Six made-up models of the three classes, to try the scheduler with: appetites such as image, language and speech jobs have,
 * measured on nothing. Profile your own jobs for anything else.
 */
export const exampleProfiles: readonly JobProfile[] = [
  {
    model: 'image-small',
    modelClass: 'image',
    gpuRate: 2400,
    ratePerCpu: 250,
    batch: 512,
    datasetGb: 120,
    sampleKb: 100,
    storageMBps: 60,
    residentGb: 8,
  },
  {
    model: 'image-large',
    modelClass: 'image',
    gpuRate: 900,
    ratePerCpu: 250,
    batch: 256,
    datasetGb: 120,
    sampleKb: 100,
    storageMBps: 60,
    residentGb: 8,
  },
  {
    model: 'image-detection',
    modelClass: 'image',
    gpuRate: 60,
    ratePerCpu: 9,
    batch: 32,
    datasetGb: 45,
    sampleKb: 200,
    storageMBps: 60,
    residentGb: 10,
  },
  {
    model: 'language-translation',
    modelClass: 'language',
    gpuRate: 400,
    ratePerCpu: 5000,
    batch: 128,
    datasetGb: 8,
    sampleKb: 2,
    storageMBps: 60,
    residentGb: 6,
  },
  {
    model: 'language-large',
    modelClass: 'language',
    gpuRate: 90,
    ratePerCpu: 3000,
    batch: 32,
    datasetGb: 16,
    sampleKb: 4,
    storageMBps: 60,
    residentGb: 12,
  },
  {
    model: 'speech',
    modelClass: 'speech',
    gpuRate: 110,
    ratePerCpu: 24,
    batch: 64,
    datasetGb: 180,
    sampleKb: 900,
    storageMBps: 60,
    residentGb: 6,
  },
].map((rates) => modelledProfile(rates as ModelledRates))
