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

const gamma = (burstiness: number) => (ratePerS: number) => gammaArrivals({ ratePerS, burstiness })

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

type TaskLoad = Partial<Omit<TaskService, 'service' | 'meanPerS'>> & {
  /** On the first board; the others by their speed. */
  readonly perS: number
}

/**
 * Services with their rates, and traffic that is not Poisson. Caps are parts of the range that the boards' task caps span, 0..1, or parts of
 * the board's lowest power limit; each holds as long as the others.
 */
type Template = readonly [
  name: string,
  what: string,
  caps: readonly (number | { readonly ofLowestLimit: number })[],
  loads: Partial<Record<Name, number | readonly [perS: number, traffic: TaskService['traffic']] | TaskLoad>>,
]

/** `cap-falls-in-burst` holds each cap for 40 s: the first burst, at 45 s, meets the low one. */
const templates: readonly Template[] = [
  ['pair', 'two services, steady', [0.5], { search: 300, photos: 500 }],
  ['pair-at-night', 'the same at a tenth of the load', [0.5], { search: 40, photos: 60 }],
  ['unlike-pair', 'a short objective beside a heavy network', [0.6], { phones: 500, archive: 150 }],
  ['trio', 'three services, steady', [0.6], { search: 250, photos: 350, scans: 60 }],
  ['trio-tight', 'three services under a low cap', [0.1], { search: 150, tags: 80, vision: 40 }],
  ['quartet', 'four services, steady', [0.7], { search: 180, photos: 250, tags: 70, vision: 40 }],
  ['sextet', 'six services, steady', [0.8], { search: 100, photos: 150, phones: 100, tags: 40, scans: 30, vision: 20 }],
  [
    'rate-steps',
    'one service takes over from the other, step by step',
    [0.5],
    { search: [250, steps([0.4, 0.8, 1.6, 1.2])], photos: [400, steps([1.6, 1.2, 0.4, 0.8])] },
  ],
  ['cap-steps', 'the cap falls, falls again, and rises', [0.8, 0.3, 0, 0.6], { search: 200, photos: 300, scans: 40 }],
  ['bursts', 'three times the rate for 5 s, twice', [0.6], { search: [150, bursts], photos: 300, tags: 60 }],
  [
    'bursty',
    'gaps of four times the variance of chance',
    [0.6],
    { search: [200, gamma(4)], photos: [300, gamma(4)], vision: [50, gamma(4)] },
  ],
  [
    'moody',
    'rates that jump between 0.6 and 1.8 of their mean',
    [0.5],
    { search: [180, modulated], phones: [250, modulated] },
  ],
  [
    'day',
    'a day in two minutes, with peaks at unlike hours',
    [0.6],
    { search: [220, day(50)], photos: [350, day(80)], tags: [60, day(100)] },
  ],
  [
    'azure-code',
    'the shape of a code completion service of Azure, 2023, beside a steady one',
    [0.6],
    { search: [70, shaped(azureCodeCounts)], photos: 300 },
  ],
  [
    'azure-chat',
    'the shapes of two services of Azure, 2023, together',
    [0.6],
    { search: [200, shaped(azureConversationCounts)], scans: [25, shaped(azureCodeCounts)], phones: 250 },
  ],
  [
    'come-and-go',
    'a third service comes at 40 s, the second goes at 80 s',
    [0.6],
    { search: 200, photos: { perS: 300, untilS: 80 }, tags: { perS: 60, fromS: 40 } },
  ],
  [
    'on-off',
    'nothing half of the time, twice the rate in the other half',
    [0.5],
    { search: [250, onOff], photos: [400, onOff] },
  ],
  [
    'gamma-16',
    'gamma gaps of sixteen times the variance of chance',
    [0.5],
    { search: [200, gamma(16)], scans: [40, gamma(16)] },
  ],
  [
    'log-normal-16',
    'log-normal gaps of sixteen times the variance of chance',
    [0.5],
    { photos: [400, logNormal], tags: [70, logNormal] },
  ],
  [
    'opposite-phases',
    'two services, one at its peak while the other is at its trough',
    [0.4],
    { search: [250, wave(0)], photos: [400, wave(15)] },
  ],
  ['flash-crowd', 'ten times the rate of one service for 10 s', [0.5], { search: [80, flashCrowd], photos: 300 }],
  [
    'told-half',
    'planners are told half the rate of one service and twice that of the other',
    [0.5],
    { search: { perS: 300, toldFactor: 0.5 }, tags: { perS: 60, toldFactor: 2 } },
  ],
  [
    'cap-falls-in-burst',
    "the cap falls below the board's lowest limit while three times the rate arrives",
    [0.6, { ofLowestLimit: 0.85 }, 0.6],
    { search: [100, bursts], photos: [200, bursts] },
  ],
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
  templates.map(([name, what, caps, loads], i): ServerTask => {
    const lowestW = findGpuSpec(board).powerLimitW.min
    const capOf = (cap: Template[2][number]) =>
      Math.round((typeof cap === 'number' ? least + cap * (most - least) : cap.ofLowestLimit * lowestW) / 5) * 5
    return {
      id: FIRST_ID + 1 + i,
      name,
      board,
      what,
      services: Object.entries(loads).map(([of, load]) => {
        const { perS, ...others } = taskLoad(load)
        const service = { name: of, ...catalogue[of as Name] }
        return { service, meanPerS: speed * perS, traffic: poisson, ...others }
      }),
      caps:
        caps.length === 1
          ? fixedCap(capOf(caps[0]!))
          : capSchedule(caps.map((cap, k) => ({ atMs: (k * 1000 * DURATION_S) / caps.length, powerCapW: capOf(cap) }))),
      durationS: DURATION_S,
    }
  }),
)

function taskLoad(load: Template[3][Name] & {}): TaskLoad {
  if (typeof load === 'number') return { perS: load }
  return 'perS' in load ? load : { perS: load[0], traffic: load[1] }
}

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
