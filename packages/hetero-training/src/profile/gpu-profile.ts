import { mean } from '@pctodl/numerics'
import { assertInput, assertPositiveInteger, repeated } from '../input-checks.js'
import { isLocked, type Setting, settingText } from './setting.js'

/** A training window of one GPU at one batch size under one power limit, optionally at a locked SM clock. */
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
  readonly unit: 'step' | 'window'
  readonly rows: readonly ProfileRow[]
  /** Power of this GPU while it waits for the others, W; null if not measured. */
  readonly idlePowerW: number | null
}

/** Minimum duration of a good window, s: the energy counter is updated only every few tens of milliseconds. */
const SHORTEST_STEADY_WINDOW_S = 5

/** Relative excess of power over the limit that triggers a warning: limits bind only on average. */
const LIMIT_MARGIN = 0.05

/** Bounds of measured power over the limit. Outside, power and limit are probably in different units. */
const MAX_OF_LIMIT = 3
const MIN_OF_LIMIT = 0.01

/**
 * Maximum ratio of the times at neighbouring points of the grid that hardware explains, divided by the ratio of the
 * batch sizes. A larger one means mixed units (s and ms), or memory that spills. Spilling affects all limits of a batch
 * size, and lowers the power, because the GPU waits for memory. Mixed units do not change it.
 */
const MAX_TIMES_APART = 100
/** A GPU that waits for memory draws less than this fraction of its previous power. */
const POWER_OF_SPILLING = 0.75
/** Ratio of neighbouring times, divided by the ratio of the batch sizes, above which memory probably spills. */
const TIMES_OF_SPILLING = 5

/** Power limits that were profiled without a locked clock, ascending, W. */
export function limitsOf({ rows }: GpuProfile): number[] {
  return ascending(rows.flatMap((row) => (isLocked(row) ? [] : [row.powerLimitW])))
}

/** Locked SM clocks of a profile with the limits in force, ascending by clock. */
export function locksOf({ rows }: GpuProfile): (Setting & { readonly smClockMhz: number })[] {
  return grouped(rows.filter(isLocked), settingText)
    .map(([row]) => ({ powerLimitW: row!.powerLimitW, smClockMhz: row!.smClockMhz! }))
    .sort((a, b) => a.smClockMhz - b.smClockMhz)
}

export function batchSizesOf({ rows }: GpuProfile): number[] {
  return ascending(rows.map(({ batchSize }) => batchSize))
}

/** The different values, ascending. */
function ascending(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b)
}

/**
 * Checks that the profile is a full grid of batch sizes and limits, and of batch sizes and locked clocks.
 *
 * @param source for messages: a file, or the name of the GPU
 * @throws InvalidInputError
 */
export function assertProfile(profile: GpuProfile, source: string = profile.name): void {
  const { rows, idlePowerW } = profile
  assertInput(rows.length > 0, `${source}: rows`, 'none', 'at least one measurement')
  for (const [i, { batchSize, powerLimitW, smClockMhz, timeS, energyJ }] of rows.entries()) {
    const place = `${source}, measurement ${i + 1} (batch ${batchSize}, ${settingText({ powerLimitW, smClockMhz })})`
    assertPositiveInteger(`${place}: batch size`, batchSize)
    const values = { 'power limit': powerLimitW, 'SM clock': smClockMhz ?? 1, time: timeS, energy: energyJ }
    for (const [name, value] of Object.entries(values)) {
      assertInput(Number.isFinite(value) && value > 0, `${place}: ${name}`, value, 'a positive number')
    }
  }
  const isIdle = idlePowerW === null || (Number.isFinite(idlePowerW) && idlePowerW >= 0)
  assertInput(isIdle, `${source}: idle power`, idlePowerW, 'watts, at least 0')
  assertUnits(profile, source)
  const limits = limitsOf(profile)
  const locks = locksOf(profile)
  const isLimited = limits.length > 0
  assertInput(isLimited, `${source}: rows`, 'locked clocks only', 'also a power limit without a locked clock')
  const twice = repeated(locks.map(({ smClockMhz }) => smClockMhz))
  const watts = locks.filter(({ smClockMhz }) => smClockMhz === twice).map(({ powerLimitW }) => powerLimitW)
  const place = `${source}, ${twice} MHz: power limit`
  assertInput(twice === undefined, place, watts.join(', '), 'one limit in force per locked clock')
  const settings = [...limits.map((powerLimitW) => ({ powerLimitW })), ...locks].map(settingText)
  const batchSizes = batchSizesOf(profile)
  for (const batchSize of batchSizes) {
    const own = [...new Set(rows.filter((row) => row.batchSize === batchSize).map(settingText))]
    const missing = settings.filter((setting) => !own.includes(setting)).join(', ')
    const expected = `all settings of the other batch sizes; measure ${missing} or omit the batch size`
    assertInput(missing === '', `${source}, batch ${batchSize}`, own.join(', '), expected)
  }
  const expected = 'at least two: one does not show how time grows with the batch'
  assertInput(batchSizes.length >= 2, `${source}: batch sizes`, batchSizes.join(', '), expected)
}

function assertUnits({ rows }: GpuProfile, source: string): void {
  for (const row of rows) {
    const ofLimit = powerOf(row) / row.powerLimitW
    const isNear = ofLimit <= MAX_OF_LIMIT && ofLimit >= MIN_OF_LIMIT
    const place = `${source}, batch ${row.batchSize}, ${row.powerLimitW} W: energy / time`
    const expected = 'a power near the limit: energy in J, time in s and limits in W, without unit prefixes'
    assertInput(isNear, place, `${powerOf(row).toPrecision(3)} W`, expected)
  }
  const ofOneBatch = neighbours(rows, ({ batchSize }) => String(batchSize), 'timeS')
  for (const [before, row] of [...ofOneBatch, ...neighbours(rows, settingText, 'batchSize')]) {
    const found = `${before.timeS} at batch ${before.batchSize}, ${row.timeS} at batch ${row.batchSize}`
    const expected = 'all times in s, and windows with equal numbers of steps'
    assertInput(!isOfOtherUnits(before, row), `${source}: time`, found, expected)
  }
}

function isOfOtherUnits(before: ProfileRow, row: ProfileRow): boolean {
  const apart = row.timeS / before.timeS
  if (apart < 1 / MAX_TIMES_APART) return true
  if (apart <= (MAX_TIMES_APART * row.batchSize) / before.batchSize) return false
  return row.batchSize === before.batchSize || powerOf(row) >= POWER_OF_SPILLING * powerOf(before)
}

function powerOf({ energyJ, timeS }: ProfileRow): number {
  return energyJ / timeS
}

/** Pairs of rows with the same key that are adjacent when sorted by one column. */
function neighbours(
  rows: readonly ProfileRow[],
  keyOf: (row: ProfileRow) => string,
  ascending: 'batchSize' | 'timeS',
): (readonly [ProfileRow, ProfileRow])[] {
  return grouped(rows, keyOf).flatMap((group) => {
    const sorted = group.sort((a, b) => a[ascending] - b[ascending])
    return sorted.slice(1).map((row, i) => [sorted[i]!, row] as const)
  })
}

/** Rows with the same key, in the order of first appearance. */
function grouped(rows: readonly ProfileRow[], keyOf: (row: ProfileRow) => string): ProfileRow[][] {
  const groups = new Map<string, ProfileRow[]>()
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row])
  return [...groups.values()]
}

/** Mean of the measurements of each batch size and setting, in the order of first appearance. */
export function averageRepeats(rows: readonly ProfileRow[]): ProfileRow[] {
  return grouped(rows, (row) => `${row.batchSize} ${settingText(row)}`).map((group) => ({
    ...group[0]!,
    timeS: mean(group.map(({ timeS }) => timeS)),
    energyJ: mean(group.map(({ energyJ }) => energyJ)),
  }))
}

/** Warnings about the measurements behind a plan, one sentence each. */
export function profileWarnings(profile: GpuProfile): string[] {
  const { name, rows, unit, idlePowerW } = profile
  const warnings =
    idlePowerW === null ? ['idle power was not measured and is assumed to be 0 W, so waiting appears free'] : []
  const short = unit === 'step' ? [] : rows.filter(({ timeS }) => timeS < SHORTEST_STEADY_WINDOW_S)
  if (short.length > 0) {
    warnings.push(
      `${short.length} of ${rows.length} windows are shorter than ${SHORTEST_STEADY_WINDOW_S} s; their power is little more than noise`,
    )
  }
  const cliff = neighbours(rows, settingText, 'batchSize').find(
    ([from, to]) => to.timeS / from.timeS > (TIMES_OF_SPILLING * to.batchSize) / from.batchSize,
  )
  if (cliff) {
    const [from, to] = cliff
    warnings.push(
      `batch ${to.batchSize} takes ${(to.timeS / from.timeS).toFixed(0)} times as long as batch ${from.batchSize}, as if memory ` +
        `spilled; sizes in between are unknown: measure them, or cap its share (maxShare, --max-share) at ${from.batchSize}`,
    )
  }
  const above = rows.find((row) => powerOf(row) > row.powerLimitW * (1 + LIMIT_MARGIN))
  if (above) {
    const watts = powerOf(above).toFixed(0)
    warnings.push(
      `${watts} W at batch ${above.batchSize} under a limit of ${above.powerLimitW} W: was the limit in force?`,
    )
  }
  const drawn = Math.max(...rows.map(powerOf))
  const idle = limitsOf(profile).filter((limit) => limit > 1.15 * drawn)
  const never = `it never draws more than ${drawn.toFixed(0)} W`
  if (idle.length > 1) warnings.push(`${never}, so the limits ${idle.join(', ')} W differ by noise only`)
  return warnings.map((warning) => `${name}: ${warning}`)
}
