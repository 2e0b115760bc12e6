import { type CapSchedule, capSchedule, findGpuSpec, fixedCap, type Service, UnknownNameError } from '@pctodl/platform'
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
import { azureCodeCounts, azureConversationCounts } from './azure-rates.js'

/** A service of a task with the requests that come to it. */
export interface TaskService {
  readonly service: Service
  /** Requests/s over the task. */
  readonly meanPerS: number
  /** What every policy is told to begin with, as a factor on `meanPerS`. Default 1. */
  readonly toldFactor?: number
  /** @param ratePerS the mean rate to come */
  readonly traffic: (ratePerS: number) => ArrivalProcess
  /** When it comes and goes, s. Default: there from the begin to the end. */
  readonly fromS?: number
  readonly untilS?: number
}

/** Services on a board under a cap, whose requests arrive whether or not earlier ones were answered. */
export interface ServerTask {
  /** Unique on its board. */
  readonly id: number
  readonly name: string
  readonly board: string
  /** What happens, in a few words. */
  readonly what: string
  readonly services: readonly TaskService[]
  readonly caps: CapSchedule
  readonly durationS: number
}

/** Length of the tasks, s. */
const DURATION_S = 120

const catalogue = {
  search: { model: 'resnet50', objective: { p99Ms: 60 }, weight: 2, maxBatchSize: 32, maxQueueDelayMs: 2 },
  photos: { model: 'mobilenet_v2', objective: { p99Ms: 40 }, weight: 1, maxBatchSize: 32, maxQueueDelayMs: 2 },
  phones: { model: 'mnasnet1_0', objective: { p99Ms: 30 }, weight: 1, maxBatchSize: 32, maxQueueDelayMs: 1 },
  tags: { model: 'densenet201', objective: { p99Ms: 120 }, weight: 1, maxBatchSize: 32, maxQueueDelayMs: 4 },
  scans: { model: 'efficientnet_v2_m', objective: { p99Ms: 150 }, weight: 3, maxBatchSize: 32, maxQueueDelayMs: 4 },
  archive: { model: 'vgg19', objective: { p99Ms: 250 }, weight: 1, maxBatchSize: 32, maxQueueDelayMs: 5 },
  vision: { model: 'maxvit_t', objective: { p99Ms: 180 }, weight: 2, maxBatchSize: 32, maxQueueDelayMs: 4 },
} as const

type Name = keyof typeof catalogue

const poisson = (ratePerS: number) => poissonArrivals({ ratePerS })

/** Counts of a recording, one a second, scaled to a mean. */
const shaped = (counts: readonly number[]) => (ratePerS: number) => {
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length
  return replayedRates({ ratesPerS: counts.map((count) => (count * ratePerS) / mean), stepMs: 1000, repeat: true })
}

/** Parts of the mean rate, one after the other, each as long as the others. */
const steps = (parts: readonly number[]) => (ratePerS: number) =>
  replayedRates({ ratesPerS: parts.map((part) => part * ratePerS), stepMs: (1000 * DURATION_S) / parts.length })

/** Three times the rate for 5 s, at 45 s and at 85 s. */
const bursts = (ratePerS: number) =>
  superposed([
    poisson(ratePerS),
    ...[45_000, 85_000].map((fromMs) => during(poisson(2 * ratePerS), { fromMs, toMs: fromMs + 5000 })),
  ])

/** Ten times the rate from 60 s to 70 s. */
const flashCrowd = (ratePerS: number) =>
  superposed([poisson(ratePerS), during(poisson(9 * ratePerS), { fromMs: 60_000, toMs: 70_000 })])

/** Half of the time nothing, half of the time twice the rate. */
const onOff = (ratePerS: number) =>
  markovModulatedArrivals({
    states: [
      { ratePerS: 0, meanDwellMs: 3000 },
      { ratePerS: 2 * ratePerS, meanDwellMs: 3000 },
    ],
  })

const logNormal = (ratePerS: number) => logNormalArrivals({ ratePerS, burstiness: 16 })

/** A wave with a period of 30 s that begins at its peak or at its trough. */
const wave = (peakS: number) => (meanRatePerS: number) =>
  diurnalArrivals({ meanRatePerS, swing: 0.9, periodMs: 30_000, peakMs: 1000 * peakS })

const gamma = (ratePerS: number) => gammaArrivals({ ratePerS, burstiness: 4 })

const modulated = (ratePerS: number) =>
  markovModulatedArrivals({
    states: [
      { ratePerS: 0.6 * ratePerS, meanDwellMs: 12_000 },
      { ratePerS: 1.8 * ratePerS, meanDwellMs: 6000 },
    ],
  })

/** A day in two minutes, its peak where it is told. */
const day = (peakS: number) => (meanRatePerS: number) =>
  diurnalArrivals({ meanRatePerS, swing: 0.7, periodMs: 1000 * DURATION_S, peakMs: 1000 * peakS })

interface Template {
  readonly name: string
  readonly what: string
  readonly services: readonly (Partial<Omit<TaskService, 'service' | 'meanPerS'>> & {
    readonly name: Name
    /** On the first board; the others by their speed. */
    readonly perS: number
  })[]
  /**
   * Caps by parts of the range that the boards' task caps span, 0..1, or by parts of the board's lowest power limit; each as long as
   * the others.
   */
  readonly caps: readonly (number | { readonly ofLowestLimit: number })[]
}

const templates: readonly Template[] = [
  {
    name: 'pair',
    what: 'two services, steady',
    services: [
      { name: 'search', perS: 300 },
      { name: 'photos', perS: 500 },
    ],
    caps: [0.5],
  },
  {
    name: 'pair-at-night',
    what: 'the same at a tenth of the load',
    services: [
      { name: 'search', perS: 40 },
      { name: 'photos', perS: 60 },
    ],
    caps: [0.5],
  },
  {
    name: 'unlike-pair',
    what: 'a short objective beside a heavy network',
    services: [
      { name: 'phones', perS: 500 },
      { name: 'archive', perS: 150 },
    ],
    caps: [0.6],
  },
  {
    name: 'trio',
    what: 'three services, steady',
    services: [
      { name: 'search', perS: 250 },
      { name: 'photos', perS: 350 },
      { name: 'scans', perS: 60 },
    ],
    caps: [0.6],
  },
  {
    name: 'trio-tight',
    what: 'three services under a low cap',
    services: [
      { name: 'search', perS: 150 },
      { name: 'tags', perS: 80 },
      { name: 'vision', perS: 40 },
    ],
    caps: [0.1],
  },
  {
    name: 'quartet',
    what: 'four services, steady',
    services: [
      { name: 'search', perS: 180 },
      { name: 'photos', perS: 250 },
      { name: 'tags', perS: 70 },
      { name: 'vision', perS: 40 },
    ],
    caps: [0.7],
  },
  {
    name: 'sextet',
    what: 'six services, steady',
    services: [
      { name: 'search', perS: 100 },
      { name: 'photos', perS: 150 },
      { name: 'phones', perS: 100 },
      { name: 'tags', perS: 40 },
      { name: 'scans', perS: 30 },
      { name: 'vision', perS: 20 },
    ],
    caps: [0.8],
  },
  {
    name: 'rate-steps',
    what: 'one service takes over from the other, step by step',
    services: [
      { name: 'search', perS: 250, traffic: steps([0.4, 0.8, 1.6, 1.2]) },
      { name: 'photos', perS: 400, traffic: steps([1.6, 1.2, 0.4, 0.8]) },
    ],
    caps: [0.5],
  },
  {
    name: 'cap-steps',
    what: 'the cap falls, falls again, and rises',
    services: [
      { name: 'search', perS: 200 },
      { name: 'photos', perS: 300 },
      { name: 'scans', perS: 40 },
    ],
    caps: [0.8, 0.3, 0, 0.6],
  },
  {
    name: 'bursts',
    what: 'three times the rate for 5 s, twice',
    services: [
      { name: 'search', perS: 150, traffic: bursts },
      { name: 'photos', perS: 300 },
      { name: 'tags', perS: 60 },
    ],
    caps: [0.6],
  },
  {
    name: 'bursty',
    what: 'gaps of four times the variance of chance',
    services: [
      { name: 'search', perS: 200, traffic: gamma },
      { name: 'photos', perS: 300, traffic: gamma },
      { name: 'vision', perS: 50, traffic: gamma },
    ],
    caps: [0.6],
  },
  {
    name: 'moody',
    what: 'rates that jump between 0.6 and 1.8 of their mean',
    services: [
      { name: 'search', perS: 180, traffic: modulated },
      { name: 'phones', perS: 250, traffic: modulated },
    ],
    caps: [0.5],
  },
  {
    name: 'day',
    what: 'a day in two minutes, with peaks at unlike hours',
    services: [
      { name: 'search', perS: 220, traffic: day(50) },
      { name: 'photos', perS: 350, traffic: day(80) },
      { name: 'tags', perS: 60, traffic: day(100) },
    ],
    caps: [0.6],
  },
  {
    name: 'azure-code',
    what: 'the shape of a code completion service of Azure, 2023, beside a steady one',
    services: [
      { name: 'search', perS: 70, traffic: shaped(azureCodeCounts) },
      { name: 'photos', perS: 300 },
    ],
    caps: [0.6],
  },
  {
    name: 'azure-chat',
    what: 'the shapes of two services of Azure, 2023, together',
    services: [
      { name: 'search', perS: 200, traffic: shaped(azureConversationCounts) },
      { name: 'scans', perS: 25, traffic: shaped(azureCodeCounts) },
      { name: 'phones', perS: 250 },
    ],
    caps: [0.6],
  },
  {
    name: 'come-and-go',
    what: 'a third service comes at 40 s, the second goes at 80 s',
    services: [
      { name: 'search', perS: 200 },
      { name: 'photos', perS: 300, untilS: 80 },
      { name: 'tags', perS: 60, fromS: 40 },
    ],
    caps: [0.6],
  },
  {
    name: 'on-off',
    what: 'nothing half of the time, twice the rate in the other half',
    services: [
      { name: 'search', perS: 250, traffic: onOff },
      { name: 'photos', perS: 400, traffic: onOff },
    ],
    caps: [0.5],
  },
  {
    name: 'gamma-16',
    what: 'gamma gaps of sixteen times the variance of chance',
    services: [
      { name: 'search', perS: 200, traffic: (ratePerS) => gammaArrivals({ ratePerS, burstiness: 16 }) },
      { name: 'scans', perS: 40, traffic: (ratePerS) => gammaArrivals({ ratePerS, burstiness: 16 }) },
    ],
    caps: [0.5],
  },
  {
    name: 'log-normal-16',
    what: 'log-normal gaps of sixteen times the variance of chance',
    services: [
      { name: 'photos', perS: 400, traffic: logNormal },
      { name: 'tags', perS: 70, traffic: logNormal },
    ],
    caps: [0.5],
  },
  {
    name: 'opposite-phases',
    what: 'two services, one at its peak while the other is at its trough',
    services: [
      { name: 'search', perS: 250, traffic: wave(0) },
      { name: 'photos', perS: 400, traffic: wave(15) },
    ],
    caps: [0.4],
  },
  {
    name: 'flash-crowd',
    what: 'ten times the rate of one service for 10 s',
    services: [
      { name: 'search', perS: 80, traffic: flashCrowd },
      { name: 'photos', perS: 300 },
    ],
    caps: [0.5],
  },
  {
    name: 'told-half',
    what: 'planners are told half the rate of one service and twice that of the other',
    services: [
      { name: 'search', perS: 300, toldFactor: 0.5 },
      { name: 'tags', perS: 60, toldFactor: 2 },
    ],
    caps: [0.5],
  },
  {
    name: 'cap-falls-in-burst',
    what: "the cap falls below the board's lowest limit while three times the rate arrives",
    services: [
      { name: 'search', perS: 100, traffic: bursts },
      { name: 'photos', perS: 200, traffic: bursts },
    ],
    // 40 s each: the first burst at 45 s meets the low cap.
    caps: [0.6, { ofLowestLimit: 0.85 }, 0.6],
  },
]

/** How fast a board is beside the first, and the caps that its tasks span, W. */
const boards = [
  { board: '3080Ti', speed: 1, capsW: [180, 300] },
  { board: 'A100', speed: 1.4, capsW: [150, 230] },
] as const

/** Ids of the first template's tasks follow this. */
const FIRST_ID = 500

/** Every task of the scenario: the same templates on each board. */
export const serverTasks: readonly ServerTask[] = boards.flatMap(({ board, speed, capsW: [least, most] }) =>
  templates.map(({ name, what, services, caps }, i): ServerTask => {
    const lowestW = findGpuSpec(board).powerLimitW.min
    const capOf = (cap: Template['caps'][number]) =>
      Math.round((typeof cap === 'number' ? least + cap * (most - least) : cap.ofLowestLimit * lowestW) / 5) * 5
    return {
      id: FIRST_ID + 1 + i,
      name,
      board,
      what,
      services: services.map(({ name: of, perS, traffic = poisson, ...when }) => ({
        service: { name: of, ...catalogue[of] },
        meanPerS: speed * perS,
        traffic,
        ...when,
      })),
      caps:
        caps.length === 1
          ? fixedCap(capOf(caps[0]!))
          : capSchedule(caps.map((cap, k) => ({ atMs: (k * 1000 * DURATION_S) / caps.length, powerCapW: capOf(cap) }))),
      durationS: DURATION_S,
    }
  }),
)

/** @throws UnknownNameError for a board without tasks, or an id that it does not have */
export function serverTasksOf(board: string, ids?: readonly number[]): readonly ServerTask[] {
  const ofBoard = serverTasks.filter((task) => task.board === board)
  const known = (tasks: readonly ServerTask[]) => tasks.map(({ id }) => String(id))
  if (ofBoard.length === 0)
    throw new UnknownNameError(
      'GPU of the services',
      board,
      boards.map((each) => each.board),
    )
  if (ids === undefined) return ofBoard
  return ids.map((id) => {
    const task = ofBoard.find((candidate) => candidate.id === id)
    if (task) return task
    throw new UnknownNameError(`task of services on ${board}`, String(id), known(ofBoard))
  })
}
