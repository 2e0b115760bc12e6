import { readFileSync, statSync } from 'node:fs'
import {
  integerFrom,
  listOf,
  numberBetween,
  oneOf,
  positiveNumber,
  type Terminal,
  UsageError,
} from '@pctodl/command-line'
import { type Command, Option } from 'commander'
import { type Cluster, totals } from '../cluster.js'
import { ImpossibleJobError } from '../errors.js'
import { parseClusterFile, parseReplayCsv, parseSynergyTables } from '../input-files.js'
import { exampleProfiles, type JobProfile, type ModelClass, modelClasses } from '../profile/job-profile.js'
import { parseSensitivityMatrix, profileOfMatrix } from '../profile/sensitivity-matrix.js'
import { generateTrace, type Job } from '../trace.js'

/** Common input of `simulate` and `execute`: jobs, their models, a cluster. */
export interface Scenario {
  readonly jobs: readonly Job[]
  readonly profiles: readonly JobProfile[]
  readonly cluster: Cluster
  readonly skipped: readonly ImpossibleJobError[]
}

type Numbers<Names extends string> = Readonly<Record<Names, number>>

/** Values of the options as parsed. */
export interface ScenarioOptions
  extends Numbers<'seed' | 'servers' | 'gpusPerServer' | 'cpusPerServer' | 'memoryPerServer'>,
    Numbers<'round' | 'restartCost' | 'spreadPenalty'>,
    Readonly<Partial<Record<'trace' | 'cluster', string>>>,
    Partial<Numbers<'generate' | 'load' | 'ratio'>> {
  readonly split?: number[]
  readonly durations: 'philly' | 'short'
  readonly models: string
  readonly profiles?: string[]
  readonly skipImpossible?: boolean
  readonly json?: boolean
}

const ofEqualServers = ['servers', 'gpusPerServer', 'cpusPerServer', 'memoryPerServer']

/** @param restartCostS default of the option */
export function addScenarioOptions(command: Command, restartCostS: number): Command {
  return command
    .addOption(
      new Option('--trace <csv>', 'lines id,model,arrival_s,iterations,gpus').conflicts([
        'load',
        'split',
        'durations',
        'seed',
      ]),
    )
    .option('--generate <jobs>', 'number of random jobs; needs --load', integerFrom(1))
    .option('--load <jobs/h>', 'mean arrivals per hour', positiveNumber('jobs per hour'))
    .option('--split <i,l,s>', 'weights of image, language, speech (default: 20,70,10)', listOf(numberBetween(0, 1e9)))
    .option('--durations <which>', 'philly (0.5 h to a week) or short', oneOf('philly', 'short'), 'philly')
    .option('--seed <n>', 'random seed', integerFrom(0), 1)
    .option('--models <json>', 'tables in the published form, or examples: six invented models', 'examples')
    .option('--ratio <n>', 'CPU cores per GPU of the table to use (default: 3)', integerFrom(1))
    .addOption(
      new Option('--profiles <files>', 'matrices written by profile, as file or file=class, in place of --models')
        .argParser(listOf(String))
        .conflicts(['models', 'ratio']),
    )
    .addOption(new Option('--cluster <file>', 'JSON file with several kinds of servers').conflicts(ofEqualServers))
    .option('--servers <n>', 'number of servers', integerFrom(1), 16)
    .option('--gpus-per-server <n>', 'GPUs per server', integerFrom(1), 8)
    .option('--cpus-per-server <n>', 'CPU cores per server', integerFrom(1), 24)
    .option('--memory-per-server <GB>', 'memory per server', positiveNumber('GB'), 500)
    .option('--skip-impossible', 'skip and list jobs that need more GPUs than the cluster has')
    .option('--round <s>', 'time between decisions while jobs wait', numberBetween(0.1, 1e9), ROUND_S)
    .option('--restart-cost <s>', 'cost of a restart after a preemption or a move', numberBetween(0, 1e9), restartCostS)
    .option('--spread-penalty <x>', 'slowdown factor of a job on several servers', numberBetween(1, 1e6), 1)
    .option('--json', 'print JSON on standard output')
}

/** Default of `--round`. */
export const ROUND_S = 300
/** As in `generateTrace`. */
export const defaultSplit: readonly number[] = [20, 70, 10]

/** Reports skipped jobs on stderr. */
export function loadScenario(options: ScenarioOptions, { stderr }: Terminal): Scenario {
  const profiles = loadProfiles(options)
  const cluster = loadCluster(options)
  const jobs = loadJobs(options, profiles)
  const { gpus } = totals(cluster)
  const isSkipped = (job: Job) => options.skipImpossible === true && job.gpus > gpus
  const skipped = jobs.filter(isSkipped).map((job) => new ImpossibleJobError(job.id, job.gpus, gpus))
  if (skipped.length === jobs.length) {
    throw new UsageError('--skip-impossible leaves no job: each needs more GPUs than the cluster has')
  }
  for (const { message } of skipped) stderr.write(`skipped: ${message}\n`)
  return { profiles, jobs: jobs.filter((job) => !isSkipped(job)), cluster, skipped }
}

function loadProfiles({ models, ratio, profiles }: ScenarioOptions): readonly JobProfile[] {
  if (profiles !== undefined) {
    return profiles.map((each) => {
      const [, file = each, name] = /^(.*)=(.*)$/.exec(each) ?? []
      const known = modelClasses.find((candidate) => candidate === name)
      if (name !== undefined && known === undefined) {
        throw new UsageError(`--profiles: '${name}' is no class; known: ${modelClasses.join(', ')}`)
      }
      return profileOfMatrix(parseSensitivityMatrix(read(file), file), known ?? null)
    })
  }
  if (models !== 'examples') return parseSynergyTables(read(models), ratio, models)
  if (ratio !== undefined)
    throw new UsageError('--ratio chooses among the tables of --models; give a file, or remove it')
  return exampleProfiles
}

function loadJobs(options: ScenarioOptions, profiles: readonly JobProfile[]): Job[] {
  const { trace, generate, load, seed } = options
  if ((trace === undefined) === (generate === undefined)) throw new UsageError('give one of --trace and --generate')
  if (trace !== undefined) return parseReplayCsv(read(trace), trace)
  if (load === undefined) throw new UsageError('--generate needs --load, the mean arrivals per hour')
  const split = splitOf(options.split ?? defaultSplit)
  return generateTrace({ jobs: generate!, jobsPerHour: load, profiles, seed, durations: options.durations, split })
}

function splitOf([image, language, speech, ...others]: readonly number[]): Readonly<Record<ModelClass, number>> {
  if (speech === undefined || others.length > 0) {
    throw new UsageError('--split takes three parts: image, language, speech')
  }
  return { image: image!, language: language!, speech }
}

function loadCluster(options: ScenarioOptions): Cluster {
  if (options.cluster !== undefined) return parseClusterFile(read(options.cluster), options.cluster)
  const { servers: count, gpusPerServer: gpus, cpusPerServer: cpus, memoryPerServer: memoryGb } = options
  return { servers: [{ count, gpus, cpus, memoryGb, storageMBps: 500 }] }
}

/** Reads a file. The error names a folder that is given instead, which the system's error does not. */
export function read(file: string): string {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError(`${file} is a folder; give a file`)
  return readFileSync(file, 'utf8')
}
