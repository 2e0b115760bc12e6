import { type CapSchedule, fixedCap, networkName } from '@pctodl/platform'
import { capsByIteration, type IterationSchedule, publishedSchedules, SCHEDULED_ITERATIONS } from '@pctodl/run'
import type { LoadMix } from '@pctodl/scheduler'
import { type ServerTask, serverTasks, tasksWithIds } from './services/service-tasks.js'
import catalogue from './tasks.json'

/** Power caps that change during a task. */
export interface TaskSchedule extends IterationSchedule {
  readonly name: 'down' | 'up' | 'steps'
}

export const taskSets = ['paper', 'latency', 'equal-p99', 'mixed', 'steps', 'services'] as const

export type TaskSet = (typeof taskSets)[number]

/** A task of tenants that run batch after batch: board, network or mix, cap. */
export interface BenchTask {
  /** Unique on its board, across all sets. */
  readonly id: number
  /** Absent for the paper's. */
  readonly set?: Exclude<TaskSet, 'paper' | 'services'>
  /** Board key; tasks 29 and 30 exist on both boards. */
  readonly board: string
  /** The network as the paper and result files spell it (`maxvit`), or the name of the mix. */
  readonly model: string
  /** Proportions of the networks in a mix; absent for a single network. */
  readonly mix?: LoadMix
  /** The p99 objective of each network, as a multiple of the latency of a batch of 32 alone on the board. */
  readonly latencyFactor?: number
  /** Latency objective of every network, ms; replaces `latencyFactor`. */
  readonly latencyMs?: number
  /** The objective is the p99 of equal tenants under the task's cap; replaces `latencyFactor`. */
  readonly latencyOfEqualSplit?: true
  readonly dataset: string
  /** Fixed cap, W; null if a schedule sets the caps. */
  readonly powerCapW: number | null
  readonly schedule: TaskSchedule | null
  /** Number of iterations; null if the caller decides. */
  readonly fixedIterations: number | null
}

const fixed = (powerCapW: number) => ({ powerCapW, schedule: null, fixedIterations: null })
const scheduled = (schedule: TaskSchedule, fixedIterations: number) => ({ powerCapW: null, schedule, fixedIterations })
const published = (name: 'down' | 'up') => scheduled({ name, ...publishedSchedules[name] }, SCHEDULED_ITERATIONS)
const dataset = 'imagenet'

/** The 30 task ids of the PctoDL paper's matrix; 29 and 30 appear once per board. */
export const benchTasks: readonly BenchTask[] = catalogue.boards.flatMap(({ board, firstId, fixed: tasks }) => [
  ...tasks.map((task, i): BenchTask => {
    const [model, images, capW] = task as [string, string, number]
    return { id: firstId + i, board, model, dataset: images, ...fixed(capW) }
  }),
  { id: 29, board, model: 'resnet50', dataset, ...published('down') },
  { id: 30, board, model: 'efficientnet_v2_m', dataset, ...published('up') },
])

const fixedCapTasks = benchTasks.filter(({ schedule }) => schedule === null)

/** Task 206 is task 6 with twice the solo latency as its objective; task 406, with four times. */
const latencyTasks = catalogue.latencyFactors.flatMap((latencyFactor) =>
  fixedCapTasks.map(
    (task): BenchTask => ({ ...task, id: 100 * latencyFactor + task.id, set: 'latency', latencyFactor }),
  ),
)

/** Task 606 is task 6 with the p99 of equal tenants as its objective. */
const equalP99Tasks = fixedCapTasks.map(
  (task): BenchTask => ({ ...task, id: 600 + task.id, set: 'equal-p99', latencyOfEqualSplit: true }),
)

/** Realistic mixes: many cheap requests and few expensive ones. Tasks 61 to 63 have a latency objective. */
const mixedTasks = catalogue.boards.flatMap(({ board, mixCapsW }) =>
  [{ firstId: 51 }, { firstId: 61, latency: { latencyFactor: 4 } }].flatMap(({ firstId, latency }) =>
    Object.entries(catalogue.mixes).map(([model, mix], i): BenchTask => {
      return { id: firstId + i, set: 'mixed', board, model, mix, ...latency, dataset, ...fixed(mixCapsW[i]!) }
    }),
  ),
)

/** Each cap holds for less than the 35 s after which pctodl changes tenants. */
const stepTasks = catalogue.boards.flatMap(({ board, stepCapsW: capsW }) =>
  catalogue.stepNetworks.map((model, i): BenchTask => {
    const iterations = catalogue.iterationsOfAStep
    const schedule = { name: 'steps', capsW, switchAtIteration: capsW.map((_, k) => k * iterations) } as const
    return { id: 71 + i, set: 'steps', board, model, dataset, ...scheduled(schedule, capsW.length * iterations) }
  }),
)

/** All tasks of all sets whose tenants run batch after batch. */
export const everyTask: readonly BenchTask[] = [benchTasks, latencyTasks, equalP99Tasks, mixedTasks, stepTasks].flat()

/** What a cell runs: tenants that run batch after batch, or services whose requests arrive. */
export type Task = BenchTask | ServerTask

export function isServed(task: Task): task is ServerTask {
  return 'services' in task
}

/** Caps in the order in which they hold, W. */
export function capsWOf(task: Task): readonly number[] {
  if (isServed(task)) return task.caps.map(({ powerCapW }) => powerCapW)
  return task.schedule ? task.schedule.capsW : [task.powerCapW!]
}

export function networksOf({ model, mix }: Pick<BenchTask, 'model' | 'mix'>): readonly string[] {
  return mix ? Object.keys(mix) : [networkName(model)]
}

/** Name of the board that a cell runs on: `A100`, or `A100~v3` of the ensemble. */
export function boardName({ task: { board }, variant }: { task: Pick<Task, 'board'>; variant?: number }): string {
  return variant === undefined ? board : `${board}~v${variant}`
}

/** Model and dataset of a task, in words. */
export function contentOf(task: Task): { readonly model: string; readonly dataset: string } {
  return isServed(task) ? { model: task.name, dataset: 'requests' } : { model: task.model, dataset: task.dataset }
}

/**
 * Returns tasks of one board without services: those with the given ids, in their order, or all tasks of some sets.
 *
 * @param sets used if no ids are given. Default: the paper's
 * @throws UnknownNameError for a board without tasks or an id that the board does not have
 */
export function tasksOf(board: string, ids?: readonly number[], sets: readonly string[] = ['paper']): BenchTask[] {
  return tasksWithIds(everyTask, board, ids).filter((task) => ids !== undefined || sets.includes(setOf(task)))
}

/** Like `tasksOf`, but also returns tasks with services. */
export function anyTasksOf(board: string, ids: readonly number[] | undefined, sets: readonly string[]): Task[] {
  const tasks = tasksWithIds<Task>([...everyTask, ...serverTasks], board, ids)
  return tasks.filter((task) => ids !== undefined || sets.includes(setOf(task)))
}

const setOf = (task: Task): TaskSet => (isServed(task) ? 'services' : (task.set ?? 'paper'))

/** Caps of a task by time stamp. */
export function capsOf({ schedule, powerCapW }: BenchTask): CapSchedule {
  return schedule ? capsByIteration(schedule) : fixedCap(powerCapW!)
}

/**
 * Returns the start of the task's file names: `<id>_<model>_<dataset>_<cap>W`. A cap schedule replaces `<cap>W` by
 * `power_down`, `power_up` or `power_steps`. A latency objective adds `_4x`, `_50ms` or `_equal-p99`.
 */
export function taskFileStem(task: Task): string {
  const { model, dataset } = contentOf(task)
  const named = (cap: string) => `${task.id}_${model}_${dataset}_${cap}`
  if (isServed(task)) return named(task.caps.length === 1 ? `${task.caps[0]!.powerCapW}W` : 'power_steps')
  const { powerCapW, schedule, latencyFactor, latencyMs, latencyOfEqualSplit } = task
  const factor = latencyFactor === undefined ? '' : `_${latencyFactor}x`
  const objective = latencyMs !== undefined ? `_${latencyMs}ms` : latencyOfEqualSplit ? '_equal-p99' : factor
  return named(schedule ? `power_${schedule.name}` : `${powerCapW}W`) + objective
}
