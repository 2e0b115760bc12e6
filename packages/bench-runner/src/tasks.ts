import { type CapSchedule, capSchedule, fixedCap, UnknownNameError } from '@pctodl/platform'

/** Power caps that change in the course of a task: `capsW[k]` holds from iteration `switchAtIteration[k]` (0-based) on. */
export interface TaskSchedule {
  readonly name: 'down' | 'up'
  readonly capsW: readonly number[]
  readonly switchAtIteration: readonly number[]
}

/** One cell of the paper's matrix. */
export interface BenchTask {
  readonly id: number
  /** Board key; tasks 29 and 30 exist on both boards. */
  readonly board: string
  /** As the paper writes it and as result files are named (`maxvit`); the network is `networkName(model)`. */
  readonly model: string
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

const SWITCHES = [0, 50, 100] as const

const dynamic = (board: string): BenchTask[] => [
  {
    id: 29,
    board,
    model: 'resnet50',
    dataset: 'imagenet',
    powerCapW: null,
    schedule: { name: 'down', capsW: [200, 160, 120], switchAtIteration: SWITCHES },
    fixedIterations: 150,
  },
  {
    id: 30,
    board,
    model: 'efficientnet_v2_m',
    dataset: 'imagenet',
    powerCapW: null,
    schedule: { name: 'up', capsW: [130, 180, 230], switchAtIteration: SWITCHES },
    fixedIterations: 150,
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

/**
 * The tasks of one board, in the order of the ids asked for, or all of them.
 *
 * @throws UnknownNameError for a board without tasks or an id that the board does not have
 */
export function tasksOf(board: string, ids?: readonly number[]): BenchTask[] {
  const ofBoard = benchTasks.filter((task) => task.board === board)
  if (ofBoard.length === 0) {
    throw new UnknownNameError('GPU of the task matrix', board, [...new Set(benchTasks.map((task) => task.board))])
  }
  if (ids === undefined) return ofBoard
  return ids.map((id) => {
    const task = ofBoard.find((candidate) => candidate.id === id)
    if (!task)
      throw new UnknownNameError(
        `task id on ${board}`,
        String(id),
        ofBoard.map((candidate) => String(candidate.id)),
      )
    return task
  })
}

/** The caps of a task by time stamp, given the length of an iteration. */
export function capsOf(task: BenchTask, windowMs: number): CapSchedule {
  const { schedule, powerCapW } = task
  if (!schedule) return fixedCap(powerCapW!)
  return capSchedule(
    schedule.capsW.map((capW, i) => ({ atMs: schedule.switchAtIteration[i]! * windowMs, powerCapW: capW })),
  )
}

/** `<id>_<model>_<dataset>_<cap>W`, or `..._power_down`, `..._power_up` where a schedule rules. */
export function taskFileStem({ id, model, dataset, powerCapW, schedule }: BenchTask): string {
  return `${id}_${model}_${dataset}_${schedule ? `power_${schedule.name}` : `${powerCapW}W`}`
}
