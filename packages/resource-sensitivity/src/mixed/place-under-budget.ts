import { InvalidInputError, UnknownNameError } from '@pctodl/platform'
import { type LinearConstraint, loadSolver, type Term, type Variable } from '@pctodl/solver'
import { ImpossibleJobError } from '../errors.js'
import { assertGpuProfile, assertOneSharedLimit, type GpuOption, type GpuProfile, gpuOptions } from './gpu-profile.js'
import { expandMixedServers, idleWattsOf, type MixedServerKind } from './mixed-cluster.js'

export interface MixedJob {
  readonly id: number
  readonly model: string
  /** Whole GPUs on one server; a job of one GPU may get a part of one. */
  readonly gpus: number
}

export interface BudgetQuestion {
  /** Servers are numbered from 0 in the order of the kinds. */
  readonly servers: readonly MixedServerKind[]
  readonly jobs: readonly MixedJob[]
  readonly profiles: readonly GpuProfile[]
  /** Of all GPUs together, W. */
  readonly powerBudgetW: number
  /** GPUs that have failed or belong to somebody else, with the CPU and memory that are their share. */
  readonly withheld?: readonly { readonly server: number; readonly gpus: number }[]
  /** Leave out jobs that no server could run and tell them, instead of refusing the question. Default false. */
  readonly skipImpossible?: boolean
  /** Work of the solver at most; where it runs out the answer says how far from the best it may be. Default 100 000 iterations. */
  readonly mostIterations?: number
}

export interface BudgetedJob extends GpuOption {
  readonly jobId: number
  readonly server: number
  readonly gpuType: string
  /** Above idle, all of the job's GPUs, W. */
  readonly powerW: number
  /** Above idle, J. */
  readonly energyPerIterationJ: number
}

export interface BudgetAnswer {
  readonly placed: readonly BudgetedJob[]
  /** Ids of jobs for which there is no room, or no power. */
  readonly waiting: readonly number[]
  readonly impossible: readonly ImpossibleJobError[]
  /** Sum over jobs of throughput relative to the fastest way to run the model. */
  readonly objective: number
  /** No placement has more. */
  readonly bound: number
  /** Idle GPUs and jobs together, W. */
  readonly powerW: number
}

/**
 * Place jobs on a cluster of unequal GPUs under a power budget: which type, which share, which power limit, how many cores and how much
 * memory each, so that the jobs run fastest together, each counted relative to the fastest way to run its model. One integer program; each job
 * is whole on one server.
 *
 * @throws InvalidInputError, UnknownNameError; ImpossibleJobError for a job that no server could run, unless those are skipped
 */
export async function placeUnderBudget(question: BudgetQuestion): Promise<BudgetAnswer> {
  const { powerBudgetW, mostIterations = 100_000, skipImpossible = false } = question
  const servers = availableServers(question)
  const profiles = new Map(question.profiles.map((profile) => [profile.model, profile]))
  if (profiles.size < question.profiles.length) {
    const models = question.profiles.map(({ model }) => model)
    throw new InvalidInputError('profiles', models.join(', '), 'one profile for each model')
  }
  for (const profile of question.profiles) assertGpuProfile(profile)
  assertOneSharedLimit(question.profiles)
  const idleW = idleWattsOf(servers)
  if (!(powerBudgetW >= idleW)) {
    throw new InvalidInputError('powerBudgetW', powerBudgetW, `at least ${idleW} W, which the GPUs draw without work`)
  }
  const types = [...new Set(question.servers.map(({ gpuType }) => gpuType))]
  const optionsOf = new Map(
    question.profiles.map((profile) => [
      profile.model,
      new Map(types.map((type) => [type, gpuOptions(profile, type)] as const)),
    ]),
  )
  const impossible: ImpossibleJobError[] = []
  const classes = new Map<string, { readonly model: string; readonly gpus: number; readonly ids: number[] }>()
  const ids = new Set<number>()
  for (const { id, model, gpus } of question.jobs) {
    if (ids.has(id)) throw new InvalidInputError('jobs', id, 'ids of their own')
    ids.add(id)
    if (!profiles.has(model)) throw new UnknownNameError('model', model, [...profiles.keys()])
    if (!(Number.isInteger(gpus) && gpus >= 1)) {
      throw new InvalidInputError(`job ${id}: gpus`, gpus, 'an integer of at least 1')
    }
    const could = question.servers.some(
      (kind) =>
        kind.gpus >= gpus &&
        optionsOf
          .get(model)!
          .get(kind.gpuType)!
          .some((option) => fits(option, gpus, kind)),
    )
    if (!could) {
      const why = `no server has ${gpus} GPUs of a type that ${model} is profiled on, with the CPU and memory it needs`
      impossible.push(new ImpossibleJobError(id, why, 'profile it on other types, or skip such jobs (skipImpossible)'))
      continue
    }
    const known = classes.get(`${model} ${gpus}`)
    if (known) known.ids.push(id)
    else classes.set(`${model} ${gpus}`, { model, gpus, ids: [id] })
  }
  if (impossible.length > 0 && !skipImpossible) throw impossible[0]!

  const variables: Variable[] = []
  const ways: { readonly server: number; readonly option: GpuOption; readonly of: string }[] = []
  const constraints: LinearConstraint[] = []
  const power: Term[] = []
  const choices = new Map([...classes.keys()].map((key) => [key, [] as Term[]]))
  servers.forEach((kind, server) => {
    if (kind.gpus === 0) return
    const [gpu, cpu, memory]: [Term[], Term[], Term[]] = [[], [], []]
    for (const [key, { model, gpus, ids: alike }] of classes) {
      const best = Math.max(...[...optionsOf.get(model)!.values()].flat().map(({ iterationsPerS }) => iterationsPerS))
      for (const option of optionsOf.get(model)!.get(kind.gpuType)!) {
        if (!fits(option, gpus, kind)) continue
        const place = variables.length
        variables.push({ objective: option.iterationsPerS / best, atMost: alike.length, whole: true })
        ways.push({ server, option, of: key })
        gpu.push([place, (gpus * option.sharePercent) / 100])
        cpu.push([place, gpus * option.cpus])
        memory.push([place, gpus * option.memoryGb])
        power.push([place, gpus * option.dynamicPowerW])
        choices.get(key)!.push([place, 1])
      }
    }
    if (gpu.length === 0) return
    constraints.push(
      { terms: gpu, atMost: kind.gpus },
      { terms: cpu, atMost: kind.cpus },
      { terms: memory, atMost: kind.memoryGb },
    )
  })
  const none = { placed: [], waiting: [...classes.values()].flatMap((each) => each.ids), impossible, powerW: idleW }
  if (variables.length === 0) return { ...none, objective: 0, bound: 0 }
  for (const [key, terms] of choices)
    if (terms.length > 0) constraints.push({ terms, atMost: classes.get(key)!.ids.length })
  constraints.push({ terms: power, atMost: powerBudgetW - idleW })

  const solver = await loadSolver()
  // To leave everybody waiting is always possible, so there is an answer however little work is allowed.
  const { values, bound } = solver.solve(
    { sense: 'maximize', variables, constraints },
    { mostIterations, start: variables.map((_, v): Term => [v, 0]) },
  )
  const left = new Map([...classes].map(([key, each]) => [key, [...each.ids]]))
  const placed: BudgetedJob[] = []
  let objective = 0
  ways.forEach(({ server, option, of }, v) => {
    const { gpus } = classes.get(of)!
    for (let n = Math.round(values?.[v] ?? 0); n > 0; n--) {
      objective += variables[v]!.objective!
      const powerW = gpus * option.dynamicPowerW
      placed.push({
        ...option,
        ...{ jobId: left.get(of)!.shift()!, server, gpuType: servers[server]!.gpuType, powerW },
        energyPerIterationJ: powerW / option.iterationsPerS,
      })
    }
  })
  placed.sort((a, b) => a.jobId - b.jobId)
  const powerW = placed.reduce((sum, job) => sum + job.powerW, idleW)
  return { placed, waiting: [...left.values()].flat().sort((a, b) => a - b), impossible, objective, bound, powerW }
}

function fits({ sharePercent, cpus, memoryGb }: GpuOption, gpus: number, kind: MixedServerKind): boolean {
  return (
    gpus <= kind.gpus &&
    (sharePercent === 100 || gpus === 1) &&
    gpus * cpus <= kind.cpus &&
    gpus * memoryGb <= kind.memoryGb
  )
}

/** The servers one by one, with what is left of each. */
function availableServers({ servers, withheld = [] }: BudgetQuestion): MixedServerKind[] {
  const all = expandMixedServers(servers)
  const left = all.map(({ gpus }) => gpus)
  withheld.forEach(({ server, gpus }, i) => {
    const has = left[server]
    if (has === undefined) {
      throw new InvalidInputError(`withheld[${i}].server`, server, `a server from 0 to ${all.length - 1}`)
    }
    if (!(Number.isInteger(gpus) && gpus >= 1 && gpus <= has)) {
      throw new InvalidInputError(
        `withheld[${i}].gpus`,
        gpus,
        `an integer from 1 to ${has}, which server ${server} has left`,
      )
    }
    left[server] = has - gpus
  })
  return all.map((kind, server) => {
    const gpus = left[server]!
    // Multiplied first: 1/49 of 49 cores is one core.
    return { ...kind, gpus, cpus: (kind.cpus * gpus) / kind.gpus, memoryGb: (kind.memoryGb * gpus) / kind.gpus }
  })
}
