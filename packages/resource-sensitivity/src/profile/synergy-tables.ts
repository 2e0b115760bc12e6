import { z } from 'zod'
import { InputFileError } from '../errors.js'
import { checkInput, parseAs, parseJsonAs } from '../json-input.js'
import { assertJobProfile, type JobProfile, type ModelClass } from './job-profile.js'

const model = z.object({
  cpu_per_gpu: z.number().positive(),
  mem_gb_per_gpu: z.number().positive(),
  iter_time_s_at_fair: z.number().positive(),
  speedup_at_demand: z.number().positive(),
  placement_penalty: z.number().min(1),
  tput: z.array(z.array(z.number().positive())),
})

const tables = z
  .object({ cpu_levels: z.array(z.number().positive()), mem_levels_gb: z.array(z.number().positive()) })
  .catchall(z.unknown())

/** The Python code's models by class, in the order its generator cycles through them. */
export const synergyModels: Readonly<Record<ModelClass, readonly string[]>> = {
  image: ['alexnet', 'res18', 'res50', 'mobilenet', 'shufflenet'],
  language: ['gnmt', 'transformer', 'lstm'],
  speech: ['m5', 'deepspeech'],
}

const classOf = new Map<string, ModelClass>(
  Object.entries(synergyModels).flatMap(([name, models]) => models.map((each) => [each, name as ModelClass] as const)),
)

/**
 * Read the Python code's hand-typed model tables from their JSON form: `cpu_levels`, `mem_levels_gb`, and under
 * `ratio<n>` one entry per model for a cluster with n CPU cores per GPU.
 *
 * @param file for messages
 * @throws InputFileError for an invalid table or a missing ratio
 */
export function parseSynergyTables(text: string, cpusPerGpuRatio = 3, file = 'model tables'): JobProfile[] {
  const parsed = parseJsonAs(tables, text, file)
  const key = `ratio${cpusPerGpuRatio}`
  const known = Object.keys(parsed).filter((name) => /^ratio\d+$/.test(name))
  if (parsed[key] === undefined) throw new InputFileError(file, null, key, undefined, `one of ${known.join(', ')}`)
  const models = parseAs(z.record(z.string(), model), parsed[key], file, [key])
  return Object.entries(models).map(([name, entry]) => {
    const profile: JobProfile = {
      model: name,
      modelClass: classOf.get(name) ?? null,
      cpusPerGpu: parsed.cpu_levels,
      memoryGbPerGpu: parsed.mem_levels_gb,
      throughput: entry.tput,
      iterationS: entry.iter_time_s_at_fair,
      demand: { cpus: entry.cpu_per_gpu, memoryGb: entry.mem_gb_per_gpu },
      speedupAtDemand: entry.speedup_at_demand,
      spreadPenalty: entry.placement_penalty,
    }
    checkInput(file, 'a table of throughputs', () => assertJobProfile(profile))
    return profile
  })
}
