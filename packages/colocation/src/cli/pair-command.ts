import {
  asUsage,
  type CommandFunction,
  given,
  integerFrom,
  listOf,
  newCommand,
  numberBetween,
  oneOf,
  parseCommand,
  positiveNumber,
  UsageError,
} from '@pctodl/command-line'
import { membersLabel } from '../colocation.js'
import { SlowdownModel } from '../model/slowdown-model.js'
import {
  type ColocationGroup,
  GroupJudge,
  type GroupLimits,
  type GroupPower,
  memoryOf,
  type Objective,
} from '../select/group-judge.js'
import { type Grouping, groupPool } from '../select/group-pool.js'
import { type RankedGroup, rankPartners, undecided } from '../select/rank-partners.js'
import { allColocations, readStudy } from '../tables/study-tables.js'
import type { Workload } from '../workload.js'
import { formatTable } from './table.js'

interface PairOptions {
  readonly study: string
  readonly pool?: string[]
  readonly for?: string
  readonly objective: Objective
  readonly size: number
  readonly gpus?: number
  readonly memoryGib?: number
  readonly minKept?: number
  readonly powerCap?: number
  readonly slo?: Record<string, number>
  readonly json?: boolean
}

/** `pctodl colocate pair`: choose co-runners. Candidates for one workload are ranked by expected regret. */
export const pairCommand: CommandFunction = async (argv, terminal) => {
  const command = newCommand(
    {
      name: 'pctodl colocate pair',
      description: 'Choose the best co-runners for a workload, or divide a pool of jobs into groups, one per GPU.',
      example: 'pctodl colocate pair --study ./measured --pool a_batch8-inf,b_batch8-inf,c_batch2-train,d_batch4-inf',
    },
    terminal,
  )
    .requiredOption('--study <folder>', 'folder with workloads.csv, colocations2.csv, ...')
    .option('--pool <workloads>', 'jobs to divide, separated by commas (default: every workload once)', listOf(String))
    .option('--for <workload>', 'rank the groups of this workload with others of the pool instead')
    .option(
      '--objective <what>',
      'throughput (samples/s) or speedup (kept shares)',
      oneOf('throughput', 'speedup'),
      'speedup',
    )
    .option('--size <n>', 'maximum jobs per GPU; with --for, jobs per group', integerFrom(1, 48), 2)
    .option('--gpus <n>', 'number of GPUs (default: the minimum for all jobs)', integerFrom(1))
    .option('--memory-gib <GiB>', 'memory per GPU', positiveNumber('GiB'))
    .option('--min-kept <share>', 'share of its solo throughput that each job must retain', numberBetween(0, 1))
    .option('--power-cap <watts>', 'power cap per GPU; needs measured power in the study', positiveNumber('W'))
    .option('--slo <workload=ms>', 'maximum mean batch time with co-runners, separated by commas', batchTimesOf)
    .option('--json', 'print the result as JSON on standard output')
  await parseCommand(command, argv)
  const options = command.opts<PairOptions>()
  if (options.for !== undefined && options.gpus !== undefined) {
    throw new UsageError('--gpus divides a pool and --for ranks groups; use only one')
  }
  if (options.for !== undefined && options.size < 2) throw new UsageError('--size: --for ranks groups of two or more')
  const study = readStudy(options.study)
  const pool = asUsage(() => (options.pool ? study.catalog.all(options.pool) : [...study.catalog]))
  const target = options.for
  const workloads = [...new Set([...(target === undefined ? [] : [asUsage(() => study.catalog.get(target))]), ...pool])]
  const model = SlowdownModel.fit(allColocations(study))
  const source = model.keptShareSource(workloads)
  const { memoryGib, minKept: minKeptShare, slo: batchTimesMs, powerCap: capW } = options
  const power = capW === undefined ? undefined : { capW, of: powerOf(model, workloads) }
  const limits: GroupLimits = given({ memoryGib, minKeptShare, batchTimesMs, power })
  asUsage(() => new GroupJudge(source, options.objective, limits))
  const places = pool.map((workload) => workloads.indexOf(workload))
  const { objective, size: maxMembers, gpus, json } = options
  const print = (document: object, groups: readonly ColocationGroup[], text: (table: string) => string) => {
    const shown = groups.map(({ members, ...group }) => ({
      members: members.map(({ name }) => name),
      ...group,
      powerW: powerOfGroup(model, { members, ...group }),
    }))
    const written = () => JSON.stringify({ ...document, objective, groups: shown }, null, 2)
    terminal.stdout.write(json ? `${written()}\n` : text(`${formatGroups(model, groups, objective)}\n`))
  }
  if (target === undefined) {
    if (gpus !== undefined && gpus * maxMembers < pool.length) {
      throw new UsageError(`--gpus ${gpus}: ${pool.length} jobs, at most ${maxMembers} per GPU, need more`)
    }
    const grouping = await groupPool(source, places, { objective, limits, maxMembers, ...given({ gpus }) })
    print(grouping, grouping.groups, (table) => `${table}${formatTotal(grouping)}\n`)
    return 0
  }
  const ranked = rankPartners(source, 0, { objective, limits, candidates: [...new Set(places)], size: maxMembers })
  const doubt = undecided(ranked)
  const measure = doubt && { measure: doubt.measure.map(({ name }) => name) }
  print({ target, undecided: measure }, ranked, (table) => (ranked.length > 0 ? table : ''))
  const say = (text: string) => void terminal.stderr.write(`${text}\n`)
  if (doubt) say(`the first two are within each other's interval; measure ${membersLabel(doubt.measure)} to decide`)
  if (ranked.length > 0) return 0
  const remedies = 'allow more memory, more power, a lower kept share or slower batches'
  say(`pctodl colocate: no co-runners of ${target} meet the limits; ${remedies}`)
  return 1
}

/** `name=ms,...` */
function batchTimesOf(text: string): Record<string, number> {
  const times: Record<string, number> = {}
  for (const each of listOf(String)(text)) {
    const [, name, ms] = /^(.+)=([^=]+)$/.exec(each) ?? []
    if (name === undefined || name in times) {
      throw new UsageError(`--slo: got '${each}', expected <workload>=<ms>, once per workload`)
    }
    times[name] = positiveNumber('ms')(ms!)
  }
  return times
}

function powerOf(model: SlowdownModel, workloads: readonly Workload[]): GroupPower {
  const unknown = workloads.find(({ powerW }) => powerW === undefined)
  const fail = (found: string, file: string) =>
    new UsageError(`--power-cap: ${found}; expected a column 'power' (W) in ${file}`)
  if (unknown) throw fail(`${unknown.name} has no power`, 'workloads.csv')
  if (!model.power) throw fail('fewer than five groups have a power', 'colocations2.csv, ...')
  return model.power.of
}

function powerOfGroup({ power }: SlowdownModel, { members, keptShares }: ColocationGroup): number | null {
  return power?.knows(members) ? power.of(members, keptShares) : null
}

function formatGroups(
  model: SlowdownModel,
  groups: readonly (ColocationGroup & Partial<RankedGroup>)[],
  objective: Objective,
): string {
  const isRanked = groups[0]?.expectedRegret !== undefined
  const head = [
    ...['group', 'keeps %', objective === 'speedup' ? 'speedup' : 'samples/s'],
    ...(isRanked ? ['90 % interval', 'regret'] : []),
    ...['memory GiB', 'power W'],
  ]
  const rows = groups.map((group) => {
    const { members, keptShares, value, interval, expectedRegret } = group
    const range = interval ? `${interval.low.toFixed(2)} - ${interval.high.toFixed(2)}` : 'unknown'
    return [
      membersLabel(members),
      keptShares.map((kept) => (100 * kept).toFixed(0)).join(', '),
      value.toFixed(2),
      ...(isRanked ? [range, expectedRegret!.toFixed(2)] : []),
      memoryOf(members).toFixed(1),
      powerOfGroup(model, group)?.toFixed(0) ?? '',
    ]
  })
  return formatTable(head, rows)
}

function formatTotal({ value, method, groups }: Grouping): string {
  const how = method === 'exact' ? 'the best there is, as predicted' : 'found by search; a better grouping may exist'
  return `${groups.length} GPUs, ${value.toFixed(2)} in sum: ${how}`
}
