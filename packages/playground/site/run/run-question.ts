/** Kinds of disturbance that can be injected into a running board. */
export const disturbanceKinds = ['kill', 'hang', 'hot', 'bias', 'frozen', 'refused', 'mps'] as const

export type DisturbanceKind = (typeof disturbanceKinds)[number]

/** A disturbance, and when it is injected. */
export interface Disturbance {
  readonly kind: DisturbanceKind
  /** Time since the run began, s. */
  readonly atS: number
}

/** A cap that applies from a time on. */
export interface CapFrom {
  readonly powerCapW: number
  /** Time since the run began, s. The first entry is at 0; times are ascending. */
  readonly atS: number
}

/** The policies that a page can run. */
export const policyNames = [
  'pctodl',
  'morak',
  'batchdvfs',
  'directcap',
  'powercap',
  'equal-split',
  'reference',
] as const

export type PolicyName = (typeof policyNames)[number]

/** All inputs that determine a run. */
export interface RunQuestion {
  readonly board: string
  readonly model: string
  readonly caps: readonly CapFrom[]
  readonly policies: readonly PolicyName[]
  /** Seed of the board's sensor error and noise. */
  readonly seed: number
  readonly durationS: number
  readonly disturbances: readonly Disturbance[]
}

/** Length of a measuring window, s; the same as in all packages. */
export const WINDOW_S = 5

export const firstRun: RunQuestion = {
  board: '3080Ti',
  model: 'resnet50',
  caps: [
    { powerCapW: 200, atS: 0 },
    { powerCapW: 150, atS: 40 },
  ],
  policies: ['pctodl', 'powercap'],
  seed: 1,
  durationS: 90,
  disturbances: [],
}

/** Returns the cap at a time, W. */
export function capAtS(caps: readonly CapFrom[], timeS: number): number {
  return caps.findLast(({ atS }) => atS <= timeS)?.powerCapW ?? caps[0]!.powerCapW
}

/** Returns the schedule with another cap from a time on. Steps after that time are dropped. */
export function capsWith(caps: readonly CapFrom[], powerCapW: number, atS: number): CapFrom[] {
  return [...caps.filter((cap) => cap.atS < atS), { powerCapW, atS }]
}
