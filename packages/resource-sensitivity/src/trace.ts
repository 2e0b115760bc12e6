import { SeededRandom } from '@pctodl/numerics'
import { InvalidInputError } from '@pctodl/platform'
import { assertInteger } from './errors.js'
import { type JobProfile, type ModelClass, modelClasses } from './profile/job-profile.js'

export interface Job {
  readonly id: number
  readonly model: string
  readonly arrivalS: number
  readonly iterations: number
  readonly gpus: number
}

/** Durations drawn log-uniformly between two lengths, with this probability. */
export interface DurationRange {
  readonly probability: number
  readonly fromMinutes: number
  readonly toMinutes: number
}

export interface GpuCount {
  readonly gpus: number
  readonly probability: number
}

/** Durations of the published evaluation, after Philly: 80 % from 32 min to 17 h, 20 % from 17 h to a week. */
export const phillyDurations: readonly DurationRange[] = [
  { probability: 0.8, fromMinutes: 10 ** 1.5, toMinutes: 10 ** 3 },
  { probability: 0.2, fromMinutes: 10 ** 3, toMinutes: 10 ** 4 },
]

/** Durations of the published simulator's option `--small_trace`. */
export const shortDurations: readonly DurationRange[] = [
  { probability: 0.8, fromMinutes: 10 ** 1.5, toMinutes: 10 ** 2.5 },
  { probability: 0.2, fromMinutes: 10 ** 2.5, toMinutes: 10 ** 2.7 },
]

/** GPU counts of the published evaluation. */
export const multiGpu: readonly GpuCount[] = [
  { gpus: 1, probability: 0.7 },
  { gpus: 2, probability: 0.1 },
  { gpus: 4, probability: 0.15 },
  { gpus: 8, probability: 0.05 },
]

/** Maximum number of jobs in a trace. More would fill the memory. */
const MAX_JOBS = 1e7

export interface GenerateOptions {
  readonly jobs: number
  /** Mean arrivals per hour; interarrival times are exponential. `Infinity`: all arrive at once. */
  readonly jobsPerHour: number
  /** Models to draw from; those without a class are ignored. */
  readonly profiles: readonly JobProfile[]
  /** Relative weights of the three classes. Default 20, 70, 10. */
  readonly split?: Readonly<Record<ModelClass, number>>
  /** Default `phillyDurations`. A duration is the job's run time with its GPU-proportional share. */
  readonly durations?: readonly DurationRange[]
  /** Default `multiGpu`. */
  readonly gpuCounts?: readonly GpuCount[]
  readonly seed: number
}

/**
 * Draws a random trace. The number of jobs in each class follows `split`, rounded to whole jobs. The models of a class
 * take turns. Two traces with the same split therefore differ in times, sizes and order, but not in their models.
 *
 * @throws InvalidInputError naming the option
 */
export function generateTrace(options: GenerateOptions): Job[] {
  const { jobs, jobsPerHour, seed } = options
  const { split = { image: 20, language: 70, speech: 10 }, durations = phillyDurations, gpuCounts = multiGpu } = options
  assertInteger('jobs', jobs)
  if (jobs > MAX_JOBS) throw new InvalidInputError('jobs', jobs, `at most ${MAX_JOBS}`)
  if (!(jobsPerHour > 0)) throw new InvalidInputError('jobsPerHour', jobsPerHour, 'a positive number')
  if (!Number.isInteger(seed)) throw new InvalidInputError('seed', seed, 'an integer')
  const isDuration = ({ fromMinutes, toMinutes }: DurationRange) =>
    fromMinutes > 0 && toMinutes >= fromMinutes && toMinutes < Infinity
  assertDrawable('durations', durations, isDuration, 'positive minutes, in ascending order')
  assertDrawable('gpuCounts', gpuCounts, ({ gpus }) => Number.isInteger(gpus) && gpus >= 1, 'integers of at least 1')
  const next = modelsInTurn(options.profiles, split)
  const random = new SeededRandom(seed)
  let arrivalS = 0
  return Array.from({ length: jobs }, (_, id): Job => {
    arrivalS += (3600 * -Math.log(1 - random.uniform())) / jobsPerHour
    const profile = next()
    const { gpus } = pick(gpuCounts, random)
    const { fromMinutes, toMinutes } = pick(durations, random)
    const durationS = 60 * fromMinutes * (toMinutes / fromMinutes) ** random.uniform()
    const iterations = Math.max(1, Math.floor(durationS / profile.iterationS))
    return { id, model: profile.model, arrivalS, iterations, gpus }
  })
}

/**
 * Returns a function that draws the next model. The class whose fraction of the jobs is furthest below its weight comes
 * next, and the models of a class take turns.
 */
function modelsInTurn(profiles: readonly JobProfile[], split: Readonly<Record<ModelClass, number>>): () => JobProfile {
  const total = modelClasses.reduce((sum, name) => sum + split[name], 0)
  const classes = modelClasses
    .filter((name) => split[name] > 0)
    .map((name) => {
      const models = profiles.filter(({ modelClass }) => modelClass === name)
      if (models.length === 0) {
        const expected = `one (profiles name their class), or a split without ${name}`
        throw new InvalidInputError('profiles', `no model of class ${name}`, expected)
      }
      return { models, part: split[name] / total, drawn: 0 }
    })
  if (!(total > 0) || modelClasses.some((name) => !(split[name] >= 0))) {
    throw new InvalidInputError('split', Object.values(split).join(','), 'weights of at least 0, not all 0')
  }
  let drawn = 0
  return () => {
    const share = ({ drawn: ofClass }: { drawn: number }) => (drawn === 0 ? 0 : ofClass / drawn)
    const behind = classes.reduce((best, other) => (other.part - share(other) > best.part - share(best) ? other : best))
    drawn++
    return behind.models[behind.drawn++ % behind.models.length]!
  }
}

function assertDrawable<T extends { readonly probability: number }>(
  field: string,
  entries: readonly T[],
  isValid: (entry: T) => boolean,
  expected: string,
): void {
  const sum = entries.reduce((total, { probability }) => total + probability, 0)
  if (entries.some(({ probability }) => !(probability >= 0)) || Math.abs(sum - 1) > 1e-9) {
    throw new InvalidInputError(field, `probabilities that sum to ${sum}`, 'probabilities that sum to 1')
  }
  const wrong = entries.find((entry) => !isValid(entry))
  if (wrong !== undefined) throw new InvalidInputError(field, wrong, expected)
}

function pick<T extends { readonly probability: number }>(entries: readonly T[], random: SeededRandom): T {
  let left = random.uniform()
  for (const entry of entries) {
    left -= entry.probability
    if (left < 0) return entry
  }
  return entries[entries.length - 1]!
}
