import { type CapSchedule, fixedCap, networkName, UnknownNameError } from '@pctodl/platform'
import { EQUAL_P99_IDS, EQUAL_P99_SET } from '@pctodl/report'
import { capsByIteration, type IterationSchedule, publishedSchedules, SCHEDULED_ITERATIONS } from '@pctodl/run'
import type { LoadMix } from '@pctodl/scheduler'
import { type ServerTask, serverTasks } from './services/service-tasks.js'

/** Power caps that change in the course of a task. */
export interface TaskSchedule extends IterationSchedule {
  readonly name: 'down' | 'up' | 'steps'
}

/**
 * The sets of tasks: the paper's thirty; its fixed-cap tasks with a latency objective, and with the p99 of equal tenants as one; several
 * networks on one board; caps that step up and down faster than processes restart; services whose requests arrive.
 */
export const taskSets = ['paper', 'latency', 'equal-p99', 'mixed', 'steps', 'services'] as const

export type TaskSet = (typeof taskSets)[number]

/** What is to be served on which board under which cap. */
export interface BenchTask {
  /** Unique on its board, over all sets. */
  readonly id: number
  /** Absent for the paper's. */
  readonly set?: Exclude<TaskSet, 'paper' | 'services'>
  /** Board key; tasks 29 and 30 exist on both boards. */
  readonly board: string
  /** As the paper writes it and as result files are named (`maxvit`); the network is `networkName(model)`. A name for a mix. */
  readonly model: string
  /** Samples of each network in a mix; absent for a single network. What counts is the load that all carry together. */
  readonly mix?: LoadMix
  /** Times the latency of a batch of 32 alone on the board: what 99 of 100 batches of each network are to keep. */
  readonly latencyFactor?: number
  /** Latency objective of every network, ms, in the place of `latencyFactor`. */
  readonly latencyMs?: number
  /** The p99 of equal tenants under the task's cap is the objective, in the place of `latencyFactor`. */
  readonly latencyOfEqualSplit?: true
  readonly dataset: string
  /** Fixed cap, W; null where a schedule rules. */
  readonly powerCapW: number | null
  readonly schedule: TaskSchedule | null
  /** Iterations that the task needs whatever is asked for; null where the caller decides. */
  readonly fixedIterations: number | null
}

const fixed = (
  board: string,
  firstId: number,
  caps: readonly (readonly [model: string, dataset: string, capW: number])[],
) =>
  caps.map(
    ([model, dataset, powerCapW], i): BenchTask => ({
      id: firstId + i,
      board,
      model,
      dataset,
      powerCapW,
      schedule: null,
      fixedIterations: null,
    }),
  )

const dynamic = (board: string): BenchTask[] => [
  {
    id: 29,
    board,
    model: 'resnet50',
    dataset: 'imagenet',
    powerCapW: null,
    schedule: { name: 'down', ...publishedSchedules.down },
    fixedIterations: SCHEDULED_ITERATIONS,
  },
  {
    id: 30,
    board,
    model: 'efficientnet_v2_m',
    dataset: 'imagenet',
    powerCapW: null,
    schedule: { name: 'up', ...publishedSchedules.up },
    fixedIterations: SCHEDULED_ITERATIONS,
  },
]

/** The 30 task ids of the PctoDL paper's matrix; 29 and 30 appear once per board. */
export const benchTasks: readonly BenchTask[] = [
  ...fixed('3080Ti', 1, [
    ['mnasnet', 'imagenet', 120],
    ['densenet201', 'imagenet', 180],
    ['efficientnet_v2_m', 'imagenet', 140],
    ['maxvit', 'imagenet', 170],
    ['mobilenet_v2', 'imagenet', 120],
    ['resnet50', 'imagenet', 130],
    ['vgg19', 'imagenet', 155],
    ['mnasnet', 'caltech256', 140],
    ['densenet201', 'caltech256', 190],
    ['efficientnet_v2_m', 'caltech256', 190],
    ['maxvit', 'caltech256', 200],
    ['mobilenet_v2', 'caltech256', 125],
    ['resnet50', 'caltech256', 170],
    ['vgg19', 'caltech256', 180],
  ]),
  ...dynamic('3080Ti'),
  ...fixed('A100', 15, [
    ['mnasnet', 'imagenet', 70],
    ['densenet201', 'imagenet', 200],
    ['efficientnet_v2_m', 'imagenet', 180],
    ['maxvit', 'imagenet', 200],
    ['mobilenet_v2', 'imagenet', 100],
    ['resnet50', 'imagenet', 150],
    ['vgg19', 'imagenet', 130],
    ['mnasnet', 'caltech256', 100],
    ['densenet201', 'caltech256', 280],
    ['efficientnet_v2_m', 'caltech256', 240],
    ['maxvit', 'caltech256', 250],
    ['mobilenet_v2', 'caltech256', 120],
    ['resnet50', 'caltech256', 180],
    ['vgg19', 'caltech256', 180],
  ]),
  ...dynamic('A100'),
]

/** The factors of the latency set; task 206 is task 6 with twice the solo latency, 406 with four times. */
const latencyFactors = [2, 4]

const latencyTasks: readonly BenchTask[] = latencyFactors.flatMap((latencyFactor) =>
  benchTasks
    .filter(({ schedule }) => schedule === null)
    .map((task) => ({ ...task, id: 100 * latencyFactor + task.id, set: 'latency' as const, latencyFactor })),
)

/** Task 606 is task 6 with the p99 of equal tenants as its objective. */
const equalP99Tasks: readonly BenchTask[] = benchTasks
  .filter(({ schedule }) => schedule === null)
  .map((task) => ({ ...task, id: EQUAL_P99_IDS + task.id, set: EQUAL_P99_SET, latencyOfEqualSplit: true }))

/** Networks as they are met together: a large share of cheap requests, a small one of dear ones. */
const mixes = {
  'resnet50+efficientnet_v2_m+mobilenet_v2': { resnet50: 4, efficientnet_v2_m: 1, mobilenet_v2: 10 },
  'densenet201+vgg19+mnasnet': { densenet201: 2, vgg19: 1, mnasnet1_0: 8 },
  'maxvit+resnet50': { maxvit_t: 1, resnet50: 3 },
} as const

const mixed = (board: string, firstId: number, capsW: readonly number[], latencyFactor?: number): BenchTask[] =>
  Object.entries(mixes).map(([model, mix], i) => ({
    id: firstId + i,
    set: 'mixed',
    board,
    model,
    mix,
    ...(latencyFactor === undefined ? {} : { latencyFactor }),
    dataset: 'imagenet',
    powerCapW: capsW[i]!,
    schedule: null,
    fixedIterations: null,
  }))

/** Each cap of a step task holds for so many iterations of 5 s: shorter than the 35 s after which pctodl changes tenants. */
const STEP_ITERATIONS = 6

const steps = (board: string, firstId: number, capsW: readonly number[]): BenchTask[] =>
  ['resnet50', 'vgg19', 'efficientnet_v2_m'].map((model, i) => ({
    id: firstId + i,
    set: 'steps',
    board,
    model,
    dataset: 'imagenet',
    powerCapW: null,
    schedule: { name: 'steps', capsW, switchAtIteration: capsW.map((_, k) => k * STEP_ITERATIONS) },
    fixedIterations: capsW.length * STEP_ITERATIONS,
  }))

/** What runs in a cell: tenants that run batch after batch, or services whose requests arrive. */
export type Task = BenchTask | ServerTask

export function isServed(task: Task): task is ServerTask {
  return 'services' in task
}

/** All tasks in which tenants run batch after batch, of all sets. */
export const everyTask: readonly BenchTask[] = [
  ...benchTasks,
  ...latencyTasks,
  ...equalP99Tasks,
  ...mixed('3080Ti', 51, [150, 180, 200]),
  ...mixed('3080Ti', 61, [150, 180, 200], 4),
  ...mixed('A100', 51, [130, 180, 220]),
  ...mixed('A100', 61, [130, 180, 220], 4),
  ...steps('3080Ti', 71, [200, 140, 180, 130, 220]),
  ...steps('A100', 71, [200, 120, 180, 140, 220]),
]

export function setOf(task: Task): TaskSet {
  return isServed(task) ? 'services' : (task.set ?? 'paper')
}

/** W, in the order in which they hold. */
export function capsWOf(task: Task): readonly number[] {
  if (isServed(task)) return task.caps.map(({ powerCapW }) => powerCapW)
  return task.schedule ? task.schedule.capsW : [task.powerCapW!]
}

/** The networks of a task, by their names. */
export function networksOf({ model, mix }: Pick<BenchTask, 'model' | 'mix'>): readonly string[] {
  return mix ? Object.keys(mix) : [networkName(model)]
}

/**
 * The tasks of one board without services, in the order of the ids asked for, from any set, or all of some sets.
 *
 * @param sets where no ids are given. Default: the paper's
 * @throws UnknownNameError for a board without tasks or an id that the board does not have
 */
export function tasksOf(board: string, ids?: readonly number[], sets: readonly TaskSet[] = ['paper']): BenchTask[] {
  return selected(everyTask, board, ids, sets)
}

/** The same with services among them. */
export function anyTasksOf(board: string, ids: readonly number[] | undefined, sets: readonly TaskSet[]): Task[] {
  return selected<Task>([...everyTask, ...serverTasks], board, ids, sets)
}

function selected<T extends Task>(
  all: readonly T[],
  board: string,
  ids: readonly number[] | undefined,
  sets: readonly TaskSet[],
): T[] {
  const ofBoard = all.filter((task) => task.board === board)
  if (ofBoard.length === 0) {
    throw new UnknownNameError('GPU of the task matrix', board, [...new Set(all.map((task) => task.board))])
  }
  if (ids === undefined) return ofBoard.filter((task) => sets.includes(setOf(task)))
  return ids.map((id) => {
    const task = ofBoard.find((candidate) => candidate.id === id)
    if (task) return task
    throw new UnknownNameError(
      `task id on ${board}`,
      String(id),
      ofBoard.map((candidate) => String(candidate.id)),
    )
  })
}

/** The caps of a task by time stamp, given the length of an iteration. */
export function capsOf(task: BenchTask, windowMs: number): CapSchedule {
  const { schedule, powerCapW } = task
  return schedule ? capsByIteration(schedule, windowMs) : fixedCap(powerCapW!)
}

/** `<id>_<model>_<dataset>_<cap>W`, or `..._power_down` where a schedule rules; `..._4x` or `..._50ms` with a latency objective. */
export function taskFileStem(task: Task): string {
  if (isServed(task)) {
    const { id, name, caps } = task
    return `${id}_${name}_requests_${caps.length === 1 ? `${caps[0]!.powerCapW}W` : 'power_steps'}`
  }
  const { id, model, dataset, powerCapW, schedule, latencyFactor, latencyMs, latencyOfEqualSplit } = task
  const factor = latencyFactor === undefined ? '' : `_${latencyFactor}x`
  const objective = latencyMs !== undefined ? `_${latencyMs}ms` : latencyOfEqualSplit ? '_equal-p99' : factor
  return `${id}_${model}_${dataset}_${schedule ? `power_${schedule.name}` : `${powerCapW}W`}${objective}`
}
