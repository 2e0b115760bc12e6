import type { Fault } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type CapStep, networkNames } from '@pctodl/platform'
import type { SensorTrouble } from '../evaluation/misled-gpu.js'

/** One case: everything that is drawn, so that a line of the table can be run again by its kind and number. */
export interface Scenario {
  readonly kind: string
  /** What comes together in a case of several. */
  readonly disturbances?: readonly string[]
  readonly number: number
  readonly seed: number
  readonly board: string
  /** Variant of the board; 0 is the one that ships. */
  readonly variant: number
  readonly network: string
  readonly durationMs: number
  readonly siliconPercent: number
  readonly warmerK: number
  /** Error on the predictor's power, percent. */
  readonly modelErrorPercent: number
  /** Shares of the range of caps that this board and network have, 0..1, by time stamp. */
  readonly capShares: readonly { readonly atMs: number; readonly share: number }[]
  readonly faults: readonly Fault[]
  readonly sensor: SensorTrouble
  /** The networks behind the tenants and how long each stays; null where they are what was asked for. */
  readonly swap: { readonly networks: readonly string[]; readonly periodMs: number } | null
  /** Nothing changes once it runs: throughput can be compared with the best static configuration. */
  readonly stationary: boolean
}

const MAX_TENANTS = 48
const BOARDS = ['3080Ti', 'A100']
/** Boards that are run with the parameters of another one. */
export const FOREIGN: Readonly<Record<string, string>> = { RTX3090: '3080Ti', 'A100-80GB': 'A100' }

type Draw = (random: SeededRandom) => Partial<Scenario>

const between = (random: SeededRandom, low: number, high: number) => low + (high - low) * random.uniform()
const steps = (periodMs: number): Draw => {
  return (random) => ({
    durationMs: Math.max(60_000, Math.min(180_000, 30 * periodMs)),
    capShares: [
      { atMs: 0, share: random.uniform() },
      ...Array.from({ length: 60 }, (_, i) => ({ atMs: 20_000 + i * periodMs, share: random.uniform() })),
    ],
  })
}

/** All clients, or the first few of them, hang and go on, again and again. */
function bursts(random: SeededRandom, onMs: number, offMs: number, tenants: number): Fault[] {
  const faults: Fault[] = []
  for (let atMs = 20_000 + 5000 * random.uniform(); atMs < 300_000; atMs += onMs + offMs) {
    for (let tenant = 0; tenant < tenants; tenant++) {
      faults.push({ kind: 'client-hung', atMs, durationMs: offMs, tenant })
    }
  }
  return faults
}

const burstDraw = (all: boolean): Draw => {
  return (random) => {
    const onMs = 500 * 60 ** random.uniform()
    const offMs = 500 * 60 ** random.uniform()
    const tenants = all ? MAX_TENANTS : 1 + random.integer(3)
    const durationMs = Math.min(180_000, 30_000 + 8 * (onMs + offMs))
    return { durationMs, faults: bursts(random, onMs, offMs, tenants) }
  }
}

/** What can make holding a cap hard. */
const kinds: Readonly<Record<string, Draw>> = {
  'fixed cap': () => ({ stationary: true, siliconPercent: 0, durationMs: 120_000 }),
  'silicon +-15 %': () => ({ stationary: true, siliconPercent: 15, durationMs: 120_000 }),
  'room 20 K warmer': () => ({ stationary: true, warmerK: 20 }),
  'model off by up to 50 %': (random) => ({ stationary: true, modelErrorPercent: between(random, -50, 50) }),
  "another board's parameters": (random) => ({
    stationary: true,
    board: Object.keys(FOREIGN)[random.integer(2)]!,
  }),
  'steps every 2 s': steps(2000),
  'steps every 5 s': steps(5000),
  'steps every 20 s': steps(20_000),
  'load on and off': burstDraw(true),
  'load to a part and back': burstDraw(false),
  'load on and off, model off': (random) => ({
    ...burstDraw(true)(random),
    modelErrorPercent: between(random, -50, 50),
  }),
  'networks exchanged': (random) => ({
    durationMs: 120_000,
    swap: {
      networks: Array.from({ length: 5 }, () => networkNames[random.integer(networkNames.length)]!),
      periodMs: between(random, 10_000, 30_000),
    },
  }),
  'tenants die': (random) => ({
    durationMs: 120_000,
    faults: Array.from({ length: 4 }, (): Fault => ({ kind: 'client-killed', atMs: between(random, 10_000, 110_000) })),
  }),
  'setters refused': (random) => ({
    ...steps(20_000)(random),
    durationMs: 120_000,
    faults: Array.from(
      { length: 2 },
      (): Fault => ({
        kind: 'setter-refused',
        atMs: between(random, 15_000, 100_000),
        durationMs: between(random, 1000, 12_000),
      }),
    ),
  }),
  'sensor up to 2 s late': (random) => ({
    durationMs: 120_000,
    sensor: { lagMs: between(random, 0, 2000), lateAll: random.uniform() < 0.5 },
  }),
  'sensor late, steps every 5 s': (random) => ({
    ...steps(5000)(random),
    sensor: { lagMs: between(random, 0, 2000), lateAll: random.uniform() < 0.5 },
  }),
  '10 % of samples lost': (random) => ({ ...steps(20_000)(random), sensor: { lostShare: 0.1 } }),
  'sensor frozen': (random) => ({
    ...steps(20_000)(random),
    durationMs: 120_000,
    faults: [
      { kind: 'telemetry-frozen', atMs: between(random, 15_000, 60_000), durationMs: between(random, 3000, 30_000) },
    ],
  }),
  'sensor reads 5 % low for a while': (random) => ({
    durationMs: 120_000,
    faults: [{ kind: 'sensor-bias', atMs: between(random, 20_000, 40_000), durationMs: 40_000, gainPercent: -5 }],
  }),
}

/** Kinds whose power nobody without a second witness can know. */
export function isBlind(kind: string): boolean {
  return kind.startsWith('sensor reads') || kind === 'sensor frozen'
}

/** Disturbances of which any two may come together: none hides the power from everybody. */
const together = Object.keys(kinds).filter((kind) => !isBlind(kind) && kind !== 'fixed cap')

/** Two of them in one run. */
function twoAtOnce(random: SeededRandom): Partial<Scenario> {
  const first = together[random.integer(together.length)]!
  const second = together.filter((kind) => kind !== first)[random.integer(together.length - 1)]!
  const [a, b] = [kinds[first]!(random), kinds[second]!(random)]
  return {
    ...a,
    ...b,
    disturbances: [first, second],
    durationMs: Math.max(a.durationMs ?? 0, b.durationMs ?? 0, 90_000),
    faults: [...(a.faults ?? []), ...(b.faults ?? [])],
    sensor: { ...a.sensor, ...b.sensor },
    stationary: false,
  }
}

const combined: Readonly<Record<string, Draw>> = {
  'two at once': twoAtOnce,
  'no power limit can be set': (random) => {
    const { faults = [], ...load } = random.uniform() < 0.5 ? steps(20_000)(random) : burstDraw(true)(random)
    const refused: Fault = { kind: 'setter-refused', atMs: 0, setter: 'power-limit', reason: 'not-supported' }
    return { ...load, faults: [...faults, refused] }
  },
}

/** Every kind of case. */
export const scenarioKinds: readonly string[] = [...Object.keys(kinds), ...Object.keys(combined)]

/** Kinds whose readings are late: twice the share above is allowed. */
export const isLate = (kind: string): boolean => kind.includes('late')

/** @param variants of each board to draw from, beside the one that ships */
export function drawScenario(kind: string, number: number, seed: number, variants: number): Scenario {
  const random = new SeededRandom(seedFrom('control-scenario', kind, number, seed))
  const variant = new SeededRandom(seedFrom('control-variant', kind, number, seed)).integer(variants + 1)
  // Every network on every board in turn; all else is drawn.
  const network = networkNames[number % networkNames.length]!
  const board = BOARDS[Math.floor(number / networkNames.length) % BOARDS.length]!
  const capShares = [{ atMs: 0, share: random.uniform() }]
  return {
    kind,
    number,
    seed: 1 + random.integer(1_000_000),
    board,
    variant,
    network,
    durationMs: 90_000,
    siliconPercent: 5,
    warmerK: 0,
    modelErrorPercent: 0,
    capShares,
    faults: [],
    sensor: {},
    swap: null,
    stationary: false,
    ...(kinds[kind] ?? combined[kind]!)(random),
  }
}

/** The caps of a case, given the lowest that the board can keep with this network and the highest that matters, W. */
export function capsOf({ capShares }: Scenario, lowestW: number, highestW: number): CapStep[] {
  return capShares.map(({ atMs, share }) => ({ atMs, powerCapW: Math.round(lowestW + share * (highestW - lowestW)) }))
}
