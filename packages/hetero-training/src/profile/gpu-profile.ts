import { InvalidInputError } from '@pctodl/platform'
import { isLocked, isSameSetting, type Setting, settingText } from './setting.js'

/**
 * One measurement of one GPU: a training window at one batch size under one power limit, optionally at a locked SM
 * clock.
 */
export interface ProfileRow {
  /** Samples that this GPU processes in a step. */
  readonly batchSize: number
  /** Power limit in force, W. */
  readonly powerLimitW: number
  /** Locked SM clock, MHz; absent if the firmware chose it within the limit. */
  readonly smClockMhz?: number | null | undefined
  /** Duration of the profile's unit, s. */
  readonly timeS: number
  /** Energy of this GPU over that unit, J. */
  readonly energyJ: number
}

/**
 * Measurements of one GPU over batch sizes and power limits, all of the same model and unit. The unit is one optimiser
 * step if `unit` is `'step'`, and a window of an unrecorded number of steps if it is `'window'`.
 */
export interface GpuProfile {
  readonly name: string
  readonly unit: ProfileUnit
  readonly rows: readonly ProfileRow[]
  /** Power of this GPU while it waits for the others, W; null if not measured. */
  readonly idlePowerW: number | null
}

export type ProfileUnit = 'step' | 'window'

/**
 * Minimum duration of a window for a good measurement, s. The energy counter is updated only every few tens of
 * milliseconds.
 */
export const SHORTEST_STEADY_WINDOW_S = 5

/** Relative excess of power over the limit that triggers a warning: limits bind only on average. */
const LIMIT_MARGIN = 0.05

/** Measured power outside these multiples of the limit means that power and limit are in different units. */
const MAX_OF_LIMIT = 3
const MIN_OF_LIMIT = 0.01

/**
 * Larger ratios of neighbouring times in the grid have one of two causes: mixed units (s and ms), or memory that
 * spills, which also makes a step a hundred times slower. Mixed units show at least one of three signs. The jump is a
 * power of a thousand, apart from the effect of batch and limit. The power (energy over time) is the same on both
 * sides, whereas a GPU that waits for memory draws less. Only some limits of a batch size jump, whereas a spill affects
 * all.
 */
const MAX_TIMES_APART = 100
const UNIT_STEPS = [1e3, 1e6, 1e9] as const
/** Range of the part of a jump that hardware explains, as a factor beside the units. */
const MAX_BESIDE_UNITS = 5
const MIN_BESIDE_UNITS = 0.5
/** A GPU that waits for memory draws less than this fraction of its previous power. */
const POWER_OF_SPILLING = 0.75

/** Power limits of a profile without a locked clock, ascending, W. */
export function limitsOf({ rows }: GpuProfile): number[] {
  const unlocked = rows.filter((row) => !isLocked(row))
  return [...new Set(unlocked.map(({ powerLimitW }) => powerLimitW))].sort((a, b) => a - b)
}

/** Locked SM clocks of a profile with the limits in force, ascending by clock. */
export function locksOf({ rows }: GpuProfile): (Setting & { readonly smClockMhz: number })[] {
  const locks: (Setting & { readonly smClockMhz: number })[] = []
  for (const { powerLimitW, smClockMhz = null } of rows) {
    if (smClockMhz === null || locks.some((lock) => isSameSetting(lock, { powerLimitW, smClockMhz }))) continue
    locks.push({ powerLimitW, smClockMhz })
  }
  return locks.sort((a, b) => a.smClockMhz - b.smClockMhz)
}

/** Batch sizes of a profile, ascending. */
export function batchSizesOf(profile: GpuProfile): number[] {
  return [...new Set(profile.rows.map(({ batchSize }) => batchSize))].sort((a, b) => a - b)
}

/**
 * Checks the profile: it must be a full grid of batch sizes and limits, and of batch sizes and locked clocks. All
 * functions of this package require that.
 *
 * @param source for messages: a file, or the name of the GPU
 * @throws InvalidInputError for an invalid measurement, mixed units, a batch size without some limit, or fewer than two
 * batch sizes
 */
export function assertProfile(profile: GpuProfile, source: string = profile.name): void {
  const { rows, idlePowerW } = profile
  if (rows.length === 0) throw new InvalidInputError(`${source}: rows`, 'none', 'at least one measurement')
  rows.forEach((row, i) => {
    const field = (name: string) =>
      `${source}, measurement ${i + 1} (batch ${row.batchSize}, ${settingText(row)}): ${name}`
    if (!Number.isInteger(row.batchSize) || row.batchSize < 1) {
      throw new InvalidInputError(field('batch size'), row.batchSize, 'a positive integer')
    }
    for (const [name, value] of [
      ['power limit', row.powerLimitW],
      ['SM clock', row.smClockMhz ?? 1],
      ['time', row.timeS],
      ['energy', row.energyJ],
    ] as const) {
      if (!(Number.isFinite(value) && value > 0)) throw new InvalidInputError(field(name), value, 'a positive number')
    }
  })
  if (idlePowerW !== null && !(Number.isFinite(idlePowerW) && idlePowerW >= 0)) {
    throw new InvalidInputError(`${source}: idle power`, idlePowerW, 'watts, at least 0')
  }
  assertUnits(profile, source)
  const limits = limitsOf(profile)
  const locks = locksOf(profile)
  const batchSizes = batchSizesOf(profile)
  if (limits.length === 0) {
    throw new InvalidInputError(`${source}: rows`, 'locked clocks only', 'also a power limit without a locked clock')
  }
  const twice = locks.find(({ smClockMhz }, i) => locks[i - 1]?.smClockMhz === smClockMhz)
  if (twice !== undefined) {
    throw new InvalidInputError(
      `${source}, ${twice.smClockMhz} MHz: power limit`,
      locks.flatMap(({ smClockMhz, powerLimitW }) => (smClockMhz === twice.smClockMhz ? [powerLimitW] : [])).join(', '),
      'one limit in force per locked clock',
    )
  }
  for (const batchSize of batchSizes) {
    const own = rows.filter((row) => row.batchSize === batchSize)
    const unlockedAt = locks.find((lock) => !own.some((row) => isSameSetting(row, lock)))
    if (unlockedAt !== undefined) {
      throw new InvalidInputError(
        `${source}, batch ${batchSize}: SM clocks`,
        locksOf({ ...profile, rows: own })
          .map(({ smClockMhz }) => smClockMhz)
          .join(', ') || 'none',
        `the locked clocks of the other batch sizes too; ${unlockedAt.smClockMhz} MHz is missing: measure it or omit the batch size`,
      )
    }
    const present = new Set(limitsOf({ ...profile, rows: own }))
    const missing = limits.filter((limit) => !present.has(limit))
    if (missing.length > 0) {
      throw new InvalidInputError(
        `${source}, batch ${batchSize}: power limits`,
        [...present].join(', '),
        `the limits of the other batch sizes too; ${missing.join(', ')} W are missing: measure them or omit the batch size`,
      )
    }
  }
  if (batchSizes.length < 2) {
    throw new InvalidInputError(
      `${source}: batch sizes`,
      batchSizes.join(', '),
      'at least two: one does not show how time grows with the batch',
    )
  }
}

function assertUnits({ rows }: GpuProfile, source: string): void {
  for (const { batchSize, powerLimitW, timeS, energyJ } of rows) {
    const ofLimit = energyJ / timeS / powerLimitW
    if (ofLimit > MAX_OF_LIMIT || ofLimit < MIN_OF_LIMIT) {
      throw new InvalidInputError(
        `${source}, batch ${batchSize}, ${powerLimitW} W: energy / time`,
        `${(energyJ / timeS).toPrecision(3)} W`,
        'a power near the limit: energy in J, time in s and limits in W, without unit prefixes',
      )
    }
  }
  for (const [before, row] of [
    ...neighbours(rows, ({ batchSize }) => String(batchSize), 'timeS'),
    ...neighbours(rows, settingText, 'batchSize'),
  ]) {
    if (!isOfOtherUnits(before, row)) continue
    throw new InvalidInputError(
      `${source}: time`,
      `${before.timeS} at batch ${before.batchSize}, ${row.timeS} at batch ${row.batchSize}`,
      'all times in s, and windows with equal numbers of steps',
    )
  }
}

/** Pairs of rows with the same key that are adjacent when sorted by one column. */
function neighbours(
  rows: readonly ProfileRow[],
  alike: (row: ProfileRow) => string,
  ascending: 'batchSize' | 'timeS',
): (readonly [ProfileRow, ProfileRow])[] {
  const groups = new Map<string, ProfileRow[]>()
  for (const row of rows) groups.set(alike(row), [...(groups.get(alike(row)) ?? []), row])
  return [...groups.values()].flatMap((group) => {
    const sorted = group.sort((a, b) => a[ascending] - b[ascending])
    return sorted.slice(1).map((row, i) => [sorted[i]!, row] as const)
  })
}

function isOfOtherUnits(before: ProfileRow, row: ProfileRow): boolean {
  const apart = row.timeS / before.timeS
  const grown = row.batchSize / before.batchSize
  if (apart < 1 / MAX_TIMES_APART) return true
  if (apart <= MAX_TIMES_APART * grown) return false
  if (row.batchSize === before.batchSize) return true
  const powerOf = ({ energyJ, timeS }: ProfileRow) => energyJ / timeS
  if (powerOf(row) < POWER_OF_SPILLING * powerOf(before)) return false
  return UNIT_STEPS.some((unit) => apart / unit >= MIN_BESIDE_UNITS && apart / unit <= MAX_BESIDE_UNITS * grown)
}

/**
 * Finds the first pair of neighbouring batch sizes under one limit whose times differ so much that the larger batch
 * cannot have fitted in memory; null if there is none.
 */
function cliffOf({ rows }: GpuProfile): { readonly from: ProfileRow; readonly to: ProfileRow } | null {
  for (const [from, to] of neighbours(rows, settingText, 'batchSize')) {
    if (to.timeS / from.timeS > (MAX_BESIDE_UNITS * to.batchSize) / from.batchSize) return { from, to }
  }
  return null
}

/** Mean of the measurements of each batch size and setting, in the order of first appearance. */
export function averageRepeats(rows: readonly ProfileRow[]): ProfileRow[] {
  const groups = new Map<string, ProfileRow[]>()
  for (const row of rows) {
    const key = `${row.batchSize} ${settingText(row)}`
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return [...groups.values()].map((group) => ({
    ...group[0]!,
    timeS: group.reduce((sum, { timeS }) => sum + timeS, 0) / group.length,
    energyJ: group.reduce((sum, { energyJ }) => sum + energyJ, 0) / group.length,
  }))
}

/** Warnings about the measurements behind a plan, one sentence each. */
export function profileWarnings(profile: GpuProfile): string[] {
  const { name, rows, unit } = profile
  const warnings: string[] = []
  if (profile.idlePowerW === null) {
    warnings.push(`${name}: idle power was not measured and is assumed to be 0 W, so waiting appears free`)
  }
  if (unit === 'window') {
    const short = rows.filter(({ timeS }) => timeS < SHORTEST_STEADY_WINDOW_S).length
    if (short > 0) {
      warnings.push(
        `${name}: ${short} of ${rows.length} windows are shorter than ${SHORTEST_STEADY_WINDOW_S} s; their power is little more than noise`,
      )
    }
  }
  const cliff = cliffOf(profile)
  if (cliff !== null) {
    const { from, to } = cliff
    warnings.push(
      `${name}: batch ${to.batchSize} takes ${(to.timeS / from.timeS).toFixed(0)} times as long as batch ${from.batchSize}, as if memory ` +
        `spilled; sizes in between are unknown: measure them, or cap its share (maxShare, --max-share) at ${from.batchSize}`,
    )
  }
  const above = rows.filter(({ timeS, energyJ, powerLimitW }) => energyJ / timeS > powerLimitW * (1 + LIMIT_MARGIN))
  if (above.length > 0) {
    const { batchSize, powerLimitW, energyJ, timeS } = above[0]!
    warnings.push(
      `${name}: ${(energyJ / timeS).toFixed(0)} W at batch ${batchSize} under a limit of ${powerLimitW} W: was the limit in force?`,
    )
  }
  const drawn = Math.max(...rows.map(({ timeS, energyJ }) => energyJ / timeS))
  const idle = limitsOf(profile).filter((limit) => limit > 1.15 * drawn)
  if (idle.length > 1) {
    warnings.push(
      `${name}: it never draws more than ${drawn.toFixed(0)} W, so the limits ${idle.join(', ')} W differ by noise only`,
    )
  }
  return warnings
}
