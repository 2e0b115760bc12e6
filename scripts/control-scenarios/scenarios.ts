import type { Fault } from '@pctodl/gpu-sim'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type CapStep, networkNames, UnknownNameError } from '@pctodl/platform'
import type { SensorTrouble } from '../evaluation/misled-gpu.js'
import { refuse } from '../evaluation/script-options.js'

/** One random case. It can be run again by its kind and number, which identify a line of the table. */
export interface Scenario {
  readonly kind: string
  /** The disturbances of a case that combines several. */
  readonly disturbances?: readonly string[]
  readonly number: number
  readonly seed: number
  readonly board: string
  /** Variant of the board; 0 is the shipped one. */
  readonly variant: number
  readonly network: string
  readonly durationMs: number
  readonly siliconPercent: number
  readonly warmerK: number
  /** Error of the predictor's power, percent. */
  readonly modelErrorPercent: number
  /** Caps by time, each as a share of the range of caps for this board and network, 0..1. */
  readonly capShares: readonly { readonly atMs: number; readonly share: number }[]
  readonly faults: readonly Fault[]
  readonly sensor: SensorTrouble
  /** Networks that replace the requested one in turn, and how long each runs; null if the requested network runs. */
  readonly swap: { readonly networks: readonly string[]; readonly periodMs: number } | null
}

const MAX_TENANTS = 48
const BOARDS = ['3080Ti', 'A100']
/** Boards that run with the parameters of another board. */
export const FOREIGN: Readonly<Record<string, string>> = { RTX3090: '3080Ti', 'A100-80GB': 'A100' }

type Draw = (random: SeededRandom) => Partial<Scenario>

const between = (random: SeededRandom, low: number, high: number) => low + (high - low) * random.uniform()
const steps =
  (periodMs: number): Draw =>
  (random) => ({
    durationMs: Math.max(60_000, Math.min(180_000, 30 * periodMs)),
    capShares: [
      { atMs: 0, share: random.uniform() },
      ...Array.from({ length: 60 }, (_, i) => ({ atMs: 20_000 + i * periodMs, share: random.uniform() })),
    ],
  })

/** All tenants or a few hang and return, again and again. */
const burstDraw =
  (all: boolean): Draw =>
  (random) => {
    const onMs = 500 * 60 ** random.uniform()
    const offMs = 500 * 60 ** random.uniform()
    const tenants = all ? MAX_TENANTS : 1 + random.integer(3)
    const faults: Fault[] = []
    for (let atMs = 20_000 + 5000 * random.uniform(); atMs < 300_000; atMs += onMs + offMs) {
      for (let tenant = 0; tenant < tenants; tenant++) {
        faults.push({ kind: 'client-hung', atMs, durationMs: offMs, tenant })
      }
    }
    return { durationMs: Math.min(180_000, 30_000 + 8 * (onMs + offMs)), faults }
  }

/** Kinds of cases: disturbances that make a cap hard to hold. */
const kinds: Readonly<Record<string, Draw>> = {
  'fixed cap': () => ({ siliconPercent: 0, durationMs: 120_000 }),
  'silicon +-15 %': () => ({ siliconPercent: 15, durationMs: 120_000 }),
  'room 20 K warmer': () => ({ warmerK: 20 }),
  'model off by up to 50 %': (random) => ({ modelErrorPercent: between(random, -50, 50) }),
  "another board's parameters": (random) => ({ board: Object.keys(FOREIGN)[random.integer(2)]! }),
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

/** Whether the true power is unknown to any controller without a second power meter. */
export function isBlind(kind: string): boolean {
  return kind.startsWith('sensor reads') || kind === 'sensor frozen'
}

/** Disturbances of which any two may be combined. None of them hides the power completely. */
const together = Object.keys(kinds).filter((kind) => !isBlind(kind) && kind !== 'fixed cap')

/** Combines two disturbances in one run. */
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

const scenarioKinds = [...Object.keys(kinds), ...Object.keys(combined)]

/**
 * The kinds whose names contain one of the texts, which are separated by semicolons. If no name contains a text, ends
 * the script with a message.
 */
export function kindsNamed(texts: string): readonly string[] {
  const found = texts.split(';').flatMap((text) => {
    const kinds = scenarioKinds.filter((kind) => kind.includes(text))
    return kinds.length > 0 ? kinds : refuse(new UnknownNameError('kind', text, scenarioKinds).message)
  })
  return [...new Set(found)]
}

/** Whether the readings of this kind of case are delayed. Twice the usual time above the cap is then allowed. */
export const isLate = (kind: string): boolean => kind.includes('late')

/**
 * Draws a case at random.
 *
 * @param variants number of variants of each board to draw from, besides the shipped board
 */
export function drawScenario(kind: string, number: number, seed: number, variants: number): Scenario {
  const random = new SeededRandom(seedFrom('control-scenario', kind, number, seed))
  const variant = new SeededRandom(seedFrom('control-variant', kind, number, seed)).integer(variants + 1)
  // Networks and boards are combined in a fixed order; everything else is random.
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
    ...(kinds[kind] ?? combined[kind]!)(random),
  }
}

/**
 * The caps of a case, W.
 *
 * @param lowestW lowest feasible cap of the board with this network, W
 * @param highestW highest cap that limits power, W
 */
export function capsOf({ capShares }: Scenario, lowestW: number, highestW: number): CapStep[] {
  return capShares.map(({ atMs, share }) => ({ atMs, powerCapW: Math.round(lowestW + share * (highestW - lowestW)) }))
}
