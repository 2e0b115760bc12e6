import { type CapSchedule, capSchedule, findGpuSpec, fixedCap, UnknownNameError } from '@pctodl/platform'
import type { ToldService } from '@pctodl/run/policy'
import {
  type ArrivalProcess,
  diurnalArrivals,
  during,
  gammaArrivals,
  logNormalArrivals,
  markovModulatedArrivals,
  poissonArrivals,
  replayedRates,
  superposed,
} from '@pctodl/traffic'
import data from './service-tasks.json'

/** A service of a task with its arrivals. */
export interface TaskService extends ToldService {
  /** @param ratePerS mean rate of the arrivals */
  readonly traffic: (ratePerS: number) => ArrivalProcess
  /** Time at which the service ends, s. Default: the end of the task. */
  readonly untilS?: number
}

/** Services on a board under a cap, under open-loop load: requests arrive whether or not earlier ones were answered. */
export interface ServerTask {
  /** Unique on its board. */
  readonly id: number
  readonly name: string
  readonly board: string
  /** What happens in the task, in a few words. */
  readonly what: string
  readonly services: readonly TaskService[]
  readonly caps: CapSchedule
  readonly durationS: number
}

/** Arrivals as described in `service-tasks.json`; factors apply to the mean rate. */
type TrafficShape =
  /** Variance of the gaps between requests, relative to that of Poisson arrivals. */
  | { readonly gamma: number }
  | { readonly logNormal: number }
  | { readonly swing: number; readonly periodS: number; readonly peakS: number }
  /** Poisson arrivals with temporary surges. */
  | { readonly crowds: readonly { readonly fromS: number; readonly toS: number; readonly times: number }[] }
  | { readonly states: readonly { readonly times: number; readonly meanDwellMs: number }[] }
  /** Factors on the rate; each applies for an equal part of the task. */
  | { readonly steps: readonly number[] }
  /** Recorded counts (see `sources`), replayed one per second and scaled to the mean rate. */
  | { readonly shape: readonly number[] }

interface TaskTemplate {
  readonly name: string
  readonly what: string
  /**
   * Caps as fractions, 0..1, of the range of the board's caps, or as multiples of its lowest power limit. Each applies
   * for an equal part of the task.
   */
  readonly caps: readonly (number | { readonly ofLowestLimit: number })[]
  /** Services by name in the catalogue. */
  readonly services: Readonly<Record<string, ServiceTemplate>>
}

interface ServiceTemplate extends Pick<TaskService, 'fromS' | 'untilS' | 'toldFactor'> {
  /** Rate on the first board, requests/s. Other boards scale it by speed. */
  readonly perS: number
  /** Name of the traffic in the catalogue. Default: Poisson. */
  readonly traffic?: string
}

/** Length of every task, s. */
const DURATION_S = 120
/** Ids of the tasks of a board begin after this. */
const FIRST_ID = 500

const poisson = (ratePerS: number) => poissonArrivals({ ratePerS })

function arrivalsOf(shape: TrafficShape, ratePerS: number): ArrivalProcess {
  if ('gamma' in shape) return gammaArrivals({ ratePerS, burstiness: shape.gamma })
  if ('logNormal' in shape) return logNormalArrivals({ ratePerS, burstiness: shape.logNormal })
  if ('swing' in shape) {
    const { swing, periodS, peakS } = shape
    return diurnalArrivals({ meanRatePerS: ratePerS, swing, periodMs: 1000 * periodS, peakMs: 1000 * peakS })
  }
  if ('crowds' in shape) {
    const more = shape.crowds.map(({ fromS, toS, times }) =>
      during(poisson((times - 1) * ratePerS), { fromMs: 1000 * fromS, toMs: 1000 * toS }),
    )
    return superposed([poisson(ratePerS), ...more])
  }
  if ('states' in shape) {
    const states = shape.states.map(({ times, meanDwellMs }) => ({ ratePerS: times * ratePerS, meanDwellMs }))
    return markovModulatedArrivals({ states })
  }
  if ('steps' in shape) {
    const ratesPerS = shape.steps.map((part) => part * ratePerS)
    return replayedRates({ ratesPerS, stepMs: (1000 * DURATION_S) / ratesPerS.length })
  }
  const mean = shape.shape.reduce((sum, count) => sum + count, 0) / shape.shape.length
  return replayedRates({ ratesPerS: shape.shape.map((count) => (count * ratePerS) / mean), stepMs: 1000, repeat: true })
}

function traffic(name: string | undefined): TaskService['traffic'] {
  if (name === undefined) return poisson
  const shape = (data.traffic as Readonly<Record<string, TrafficShape>>)[name]!
  return (ratePerS) => arrivalsOf(shape, ratePerS)
}

/** All service tasks: the same templates on each board. */
export const serverTasks: readonly ServerTask[] = data.boards.flatMap(({ board, speed, capsW }) => {
  const [least, most] = capsW as [number, number]
  const lowestW = findGpuSpec(board).powerLimitW.min
  const capOf = (cap: TaskTemplate['caps'][number]) =>
    Math.round((typeof cap === 'number' ? least + cap * (most - least) : cap.ofLowestLimit * lowestW) / 5) * 5
  return (data.tasks as readonly TaskTemplate[]).map(({ name, what, caps, services }, i): ServerTask => {
    const steps = caps.map((cap, k) => ({ atMs: (k * 1000 * DURATION_S) / caps.length, powerCapW: capOf(cap) }))
    return {
      id: FIRST_ID + 1 + i,
      name,
      board,
      what,
      services: Object.entries(services).map(([of, { perS, traffic: shape, ...others }]) => {
        const service = { name: of, ...data.catalogue[of as keyof typeof data.catalogue] }
        return { service, meanPerS: speed * perS, traffic: traffic(shape), ...others }
      }),
      caps: steps.length === 1 ? fixedCap(steps[0]!.powerCapW) : capSchedule(steps),
      durationS: DURATION_S,
    }
  })
})

/** Like `tasksWithIds`, for all service tasks. */
export function serverTasksOf(board: string, ids?: readonly number[]): readonly ServerTask[] {
  return tasksWithIds(serverTasks, board, ids)
}

/**
 * Returns the tasks of a board: those with the given ids, in their order, or all.
 *
 * @throws UnknownNameError for a board without tasks, or an id that the board does not have
 */
export function tasksWithIds<T extends Pick<ServerTask, 'board' | 'id'>>(
  tasks: readonly T[],
  board: string,
  ids?: readonly number[],
): readonly T[] {
  const ofBoard = tasks.filter((task) => task.board === board)
  if (ofBoard.length === 0) {
    throw new UnknownNameError('GPU of the task matrix', board, [...new Set(tasks.map((task) => task.board))])
  }
  if (!ids) return ofBoard
  const known = new Map(ofBoard.map((task) => [task.id, task]))
  const unknown = ids.find((id) => !known.has(id))
  if (unknown !== undefined)
    throw new UnknownNameError(`task id on ${board}`, `${unknown}`, [...known.keys()].map(String))
  return ids.map((id) => known.get(id)!)
}
