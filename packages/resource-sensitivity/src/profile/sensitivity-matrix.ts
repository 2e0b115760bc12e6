import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import { parseJsonAs } from '../input-files.js'
import { assertJobProfile, type JobProfile, type ModelClass } from './job-profile.js'

export const MATRIX_SCHEMA = 'pctodl-sensitivity/1'

export interface SensitivityPoint {
  cpu: number
  memGb: number
  memPercent: number
  epochSeconds: number
  samplesPerSecond: number
  samplesPerSecondLow: number
  samplesPerSecondHigh: number
  normalised: number
  storageMBps: number
  source: 'measured' | 'estimated'
}

const point = z.strictObject({
  cpu: z.number().positive(),
  memGb: z.number().min(0),
  memPercent: z.number().min(0).max(100),
  epochSeconds: z.number().positive(),
  samplesPerSecond: z.number().positive(),
  samplesPerSecondLow: z.number().positive(),
  samplesPerSecondHigh: z.number().positive(),
  normalised: z.number().positive(),
  storageMBps: z.number().min(0),
  source: z.enum(['measured', 'estimated']),
})

/** Throughput of one job over CPU cores and memory, for all its GPUs together. */
export interface SensitivityMatrix {
  schema: typeof MATRIX_SCHEMA
  job: string
  gpus: number
  batchPerGpu: number
  dataset: { gb: number; samples: number }
  residentGb: number
  storageMBps: number
  memGBps: Record<string, number>
  fairShare: { cpu: number; memGb: number }
  kneeCpu: number
  runs: number
  points: SensitivityPoint[]
}

const matrix = z.strictObject({
  schema: z.literal(MATRIX_SCHEMA),
  job: z.string().min(1),
  gpus: z.number().int().min(1),
  batchPerGpu: z.number().int().min(1),
  dataset: z.strictObject({ gb: z.number().positive(), samples: z.number().int().min(1) }),
  residentGb: z.number().min(0),
  storageMBps: z.number().positive(),
  memGBps: z.record(z.string(), z.number().positive()),
  fairShare: z.strictObject({ cpu: z.number().positive(), memGb: z.number().positive() }),
  kneeCpu: z.number().positive(),
  runs: z.number().int().min(1),
  points: z.array(point).min(1),
})

/** @throws InputFileError naming file and field */
export function parseSensitivityMatrix(text: string, file = 'sensitivity matrix'): SensitivityMatrix {
  return parseJsonAs(matrix, text, file)
}

/** The points as a table: rows by cores, columns by memory, both ascending. */
export function matrixAxes<Point extends Pick<SensitivityPoint, 'cpu' | 'memGb'>>(
  points: readonly Point[],
): { cpus: number[]; memoryGb: number[]; at: (cpu: number, memoryGb: number) => Point } {
  const unique = (values: readonly number[]) => [...new Set(values)].sort((a, b) => a - b)
  const byPlace = new Map(points.map((each) => [`${each.cpu}/${each.memGb}`, each]))
  const cpus = unique(points.map(({ cpu }) => cpu))
  const memoryGb = unique(points.map(({ memGb }) => memGb))
  if (byPlace.size !== cpus.length * memoryGb.length || byPlace.size !== points.length) {
    const found = `${points.length} points of ${cpus.length} core counts and ${memoryGb.length} memory sizes`
    throw new InvalidInputError('points', found, 'one point for each pair of them')
  }
  return { cpus, memoryGb, at: (cpu, memory) => byPlace.get(`${cpu}/${memory}`)! }
}

/** Smallest share (first of cores, then of memory) with throughput within 10 % of the best. */
export function minDemand({ points }: Pick<SensitivityMatrix, 'points'>): SensitivityPoint {
  const { cpus, memoryGb, at } = matrixAxes(points)
  const best = points.reduce((most, each) => Math.max(most, each.samplesPerSecond), 0)
  const all = cpus.flatMap((cpu) => memoryGb.map((memory) => at(cpu, memory)))
  return all.find(({ samplesPerSecond }) => samplesPerSecond >= 0.9 * best)!
}

/**
 * Scheduler profile of a profiled job: per GPU, relative to the GPU-proportional share of its server.
 *
 * @throws InvalidInputError if the points form no table
 */
export function profileOfMatrix(source: SensitivityMatrix, modelClass: ModelClass | null = null): JobProfile {
  const { gpus, batchPerGpu, points } = source
  const { cpus, memoryGb, at } = matrixAxes(points)
  const base = points[0]!.samplesPerSecond / points[0]!.normalised
  const demand = minDemand(source)
  const profile: JobProfile = {
    model: source.job,
    modelClass,
    cpusPerGpu: cpus.map((cpu) => cpu / gpus),
    memoryGbPerGpu: memoryGb.map((memory) => memory / gpus),
    throughput: cpus.map((cpu) => memoryGb.map((memory) => at(cpu, memory).samplesPerSecond / base)),
    iterationS: (batchPerGpu * gpus) / base,
    demand: { cpus: demand.cpu / gpus, memoryGb: demand.memGb / gpus },
    speedupAtDemand: demand.samplesPerSecond / base,
    spreadPenalty: 1,
  }
  assertJobProfile(profile)
  return profile
}
