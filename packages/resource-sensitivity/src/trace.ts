import { SeededRandom } from '@pctodl/numerics'
import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { assertInteger } from './errors.js'
import { type JobProfile, type ModelClass, modelClasses } from './profile/job-profile.js'

export interface Job {
  readonly id: number
  readonly model: string
  readonly arrivalS: number
  readonly iterations: number
  readonly gpus: number
}

/** Run times, minutes: 80 % log-uniform between the first two numbers, 20 % between the last two. */
const durations = {
  /** Of the published evaluation, after Philly: half an hour to a week. */
  philly: [10 ** 1.5, 10 ** 3, 10 ** 4],
  /** Of the published simulator's option `--small_trace`. */
  short: [10 ** 1.5, 10 ** 2.5, 10 ** 2.7],
} as const

/** GPUs of a job in the published evaluation, each with the probability of at most this number. */
const gpuCounts = [
  [1, 0.7],
  [2, 0.8],
  [4, 0.95],
  [8, 1],
] as const

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
  /** Run times with the GPU-proportional share: half an hour to a week, or to 8 h. Default `philly`. */
  readonly durations?: 'philly' | 'short'
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
  const { split = { image: 20, language: 70, speech: 10 } } = options
  assertInteger('jobs', jobs)
  if (jobs > MAX_JOBS) throw new InvalidInputError('jobs', jobs, `at most ${MAX_JOBS}`)
  if (!(jobsPerHour > 0)) throw new InvalidInputError('jobsPerHour', jobsPerHour, 'a positive number')
  if (!Number.isInteger(seed)) throw new InvalidInputError('seed', seed, 'an integer')
  const { durations: which = 'philly' } = options
  if (!Object.hasOwn(durations, which)) throw new UnknownNameError('durations', which, Object.keys(durations))
  const [shortest, middle, longest] = durations[which]
  const next = modelsInTurn(options.profiles, split)
  const random = new SeededRandom(seed)
  let arrivalS = 0
  return Array.from({ length: jobs }, (_, id): Job => {
    arrivalS += (3600 * -Math.log(1 - random.uniform())) / jobsPerHour
    const profile = next()
    const size = random.uniform()
    const [gpus] = gpuCounts.find(([, atMost]) => size < atMost)!
    const [from, to] = random.uniform() < 0.8 ? [shortest, middle] : [middle, longest]
    const durationS = 60 * from * (to / from) ** random.uniform()
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
