import { InvalidInputError } from '@pctodl/platform'
import { z } from 'zod'
import { assertCluster, type Cluster } from './cluster.js'
import { InputFileError } from './errors.js'
import { assertJobProfile, type JobProfile, type ModelClass } from './profile/job-profile.js'
import type { Job } from './trace.js'

/** Parses JSON and checks it. @throws InputFileError naming file and field */
export function parseJsonAs<T>(schema: z.ZodType<T>, text: string, file: string): T {
  let value: unknown
  try {
    // Editors on Windows put a byte order mark first.
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new InputFileError(file, null, 'the file', text.slice(0, 40).trim(), 'JSON', error)
  }
  return parseAs(schema, value, file)
}

/** As `parseJsonAs`, for a parsed value. `place` is its position in the file. */
function parseAs<T>(schema: z.ZodType<T>, value: unknown, file: string, place: readonly string[] = []): T {
  const { data, error } = schema.safeParse(value)
  if (error === undefined) return data as T
  const { path, message, ...issue } = error.issues[0]!
  const field = [...place, ...path].join('.') || 'the file'
  if (issue.code === 'unrecognized_keys') {
    throw new InputFileError(file, null, `a field of ${field}`, issue.keys[0], 'a known one', error)
  }
  const found = path.reduce<unknown>((part, key) => (part as Record<PropertyKey, unknown>)[key], value)
  // Zod says 'Invalid input: expected number, received string'.
  const expected = message.replace(/^.*?expected /, '').replace(/, received .*$/, '')
  throw new InputFileError(file, null, field, found, expected, error)
}

/** Checks a parsed value. @throws InputFileError that names the field, in place of the check's InvalidInputError */
function checkInput(file: string, check: () => void): void {
  try {
    check()
  } catch (cause) {
    if (!(cause instanceof InvalidInputError)) throw cause
    throw new InputFileError(file, null, cause.field, cause.value, cause.message.replace(/^.*, expected /s, ''), cause)
  }
}

const clusterFile = z.strictObject({
  servers: z.array(
    z.strictObject({
      count: z.number(),
      gpus: z.number(),
      cpus: z.number(),
      memoryGb: z.number(),
      storageMBps: z.number(),
      gpuType: z.string().exactOptional(),
      idlePowerW: z.number().exactOptional(),
    }),
  ),
})

/**
 * Read a cluster: `{"servers":[{"count":4,"gpus":8,"cpus":24,"memoryGb":500,"storageMBps":500}, ...]}`.
 *
 * @throws InputFileError naming file and field
 */
export function parseClusterFile(text: string, file = 'cluster file'): Cluster {
  const cluster = parseJsonAs(clusterFile, text, file)
  checkInput(file, () => assertCluster(cluster))
  return cluster
}

/**
 * Read a replay trace: lines `id,model,arrival seconds,iterations,gpus` without a header, as recorded by the Python
 * code.
 *
 * @param file for messages
 * @throws InputFileError naming row and field
 */
export function parseReplayCsv(text: string, file = 'trace'): Job[] {
  const rowOfId = new Map<number, number>()
  const jobs = text.split(/\r?\n/).flatMap((line, index): Job[] => {
    if (line.trim() === '') return []
    const row = index + 1
    const cells = line.split(',').map((cell) => cell.trim())
    if (cells.length !== 5) {
      throw new InputFileError(file, row, 'the row', line, 'five cells: id,model,arrival_s,iterations,gpus')
    }
    const number = (field: string, cell: number, least: number, isInteger: boolean) => {
      const value = /^\d+(\.\d*)?(e[-+]?\d+)?$/i.test(cells[cell]!) ? Number(cells[cell]) : Number.NaN
      if (value >= least && (isInteger ? Number.isSafeInteger(value) : Number.isFinite(value))) return value
      const expected = `${isInteger ? 'an integer' : 'a number'} of at least ${least}`
      throw new InputFileError(file, row, field, cells[cell], expected)
    }
    const id = number('id', 0, 0, true)
    const model = cells[1]!
    const arrivalS = number('arrival', 2, 0, false)
    const iterations = number('iterations', 3, 1, true)
    const gpus = number('gpus', 4, 1, true)
    if (model === '') throw new InputFileError(file, row, 'model', model, 'the name of a model')
    const before = rowOfId.get(id)
    if (before !== undefined) {
      throw new InputFileError(file, row, 'id', cells[0], `a unique ID (row ${before} has the same)`)
    }
    rowOfId.set(id, row)
    return [{ id, model, arrivalS, iterations, gpus }]
  })
  if (jobs.length === 0) throw new InputFileError(file, null, 'the file', text.slice(0, 40), 'at least one job')
  return jobs
}

const synergyModel = z.object({
  cpu_per_gpu: z.number().positive(),
  mem_gb_per_gpu: z.number().positive(),
  iter_time_s_at_fair: z.number().positive(),
  speedup_at_demand: z.number().positive(),
  placement_penalty: z.number().min(1),
  tput: z.array(z.array(z.number().positive())),
})

const synergyTables = z
  .object({ cpu_levels: z.array(z.number().positive()), mem_levels_gb: z.array(z.number().positive()) })
  .catchall(z.unknown())

/** The Python code's models by class, in the order its generator cycles through them. */
const synergyModels: Readonly<Record<ModelClass, readonly string[]>> = {
  image: ['alexnet', 'res18', 'res50', 'mobilenet', 'shufflenet'],
  language: ['gnmt', 'transformer', 'lstm'],
  speech: ['m5', 'deepspeech'],
}

/**
 * Read the Python code's hand-typed model tables from their JSON form: `cpu_levels`, `mem_levels_gb`, and under
 * `ratio<n>` one entry per model for a cluster with n CPU cores per GPU.
 *
 * @param file for messages
 * @throws InputFileError for an invalid table or a missing ratio
 */
export function parseSynergyTables(text: string, cpusPerGpuRatio = 3, file = 'model tables'): JobProfile[] {
  const parsed = parseJsonAs(synergyTables, text, file)
  const key = `ratio${cpusPerGpuRatio}`
  const known = Object.keys(parsed).filter((name) => /^ratio\d+$/.test(name))
  if (parsed[key] === undefined) throw new InputFileError(file, null, key, undefined, `one of ${known.join(', ')}`)
  const models = parseAs(z.record(z.string(), synergyModel), parsed[key], file, [key])
  const classes = Object.entries(synergyModels) as [ModelClass, readonly string[]][]
  return Object.entries(models).map(([model, entry]) => {
    const profile: JobProfile = {
      model,
      modelClass: classes.find(([, names]) => names.includes(model))?.[0] ?? null,
      cpusPerGpu: parsed.cpu_levels,
      memoryGbPerGpu: parsed.mem_levels_gb,
      throughput: entry.tput,
      iterationS: entry.iter_time_s_at_fair,
      demand: { cpus: entry.cpu_per_gpu, memoryGb: entry.mem_gb_per_gpu },
      speedupAtDemand: entry.speedup_at_demand,
      spreadPenalty: entry.placement_penalty,
    }
    checkInput(file, () => assertJobProfile(profile))
    return profile
  })
}
