import { PctodlError, UnknownNameError } from './errors.js'

/** A GPU instance profile: how much of a board one MIG instance gets, and where it may lie. */
export interface MigSlot {
  /** As nvidia-smi names it, e.g. `3g.40gb`. */
  readonly name: string
  /** Compute slices (the number before `g`). */
  readonly computeSlices: number
  /** Parts of the board's memory, DRAM bandwidth and L2, of `MigGeometry.memorySlices`. */
  readonly memorySlices: number
  /** First memory slices at which an instance may begin. */
  readonly placements: readonly number[]
}

/** How a board can be split. */
export interface MigGeometry {
  /** Short name used on command lines; the board's in `gpuSpecs` where that has it. */
  readonly key: string
  readonly aliases: readonly string[]
  readonly computeSlices: number
  readonly memorySlices: number
  /** Smallest first; of one compute slice there may be two, with one and with two slices of memory. */
  readonly profiles: readonly MigSlot[]
}

/** Compute slices, memory slices, and first memory slices of the profiles. */
type Shape = readonly [computeSlices: number, memorySlices: number, placements: readonly number[]]

/**
 * Boards with seven compute and eight memory slices. NVIDIA, MIG User Guide, "Supported MIG Profiles": fractions and numbers of
 * instances; the placements are what `nvidia-smi mig -lgipp` lists, as in the guide's figures.
 */
const seven: readonly Shape[] = [
  [1, 1, [0, 1, 2, 3, 4, 5, 6]],
  [1, 2, [0, 2, 4, 6]],
  [2, 2, [0, 2, 4]],
  [3, 4, [0, 4]],
  [4, 4, [0]],
  [7, 8, [0]],
]

/** The A30 has four of each (the same guide). It has no profile of three slices, and none with double memory. */
const four: readonly Shape[] = [
  [1, 1, [0, 1, 2, 3]],
  [2, 2, [0, 2]],
  [4, 4, [0]],
]

function geometry(
  key: string,
  aliases: readonly string[],
  [computeSlices, memorySlices]: readonly [number, number],
  shapes: readonly Shape[],
  /** What profile names call so many memory slices, GB. */
  gigabytes: Readonly<Record<number, number>>,
): MigGeometry {
  const profiles = shapes.map(([compute, memory, placements]) => ({
    name: `${compute}g.${gigabytes[memory]}gb`,
    computeSlices: compute,
    memorySlices: memory,
    placements,
  }))
  return { key, aliases, computeSlices, memorySlices, profiles }
}

/**
 * The boards that MIG splits, by key. Names of the profiles: MIG User Guide; those of 96 GB: H100 on GH200. Media extensions (`+me`)
 * are left out: such an instance takes the same slices.
 */
export const migGeometries: Readonly<Record<string, MigGeometry>> = Object.fromEntries(
  [
    geometry('A30', ['nvidiaa30', 'a3024gb', 'a30pcie'], [4, 4], four, { 1: 6, 2: 12, 4: 24 }),
    geometry('A100', [], [7, 8], seven, { 1: 5, 2: 10, 4: 20, 8: 40 }),
    geometry('A100-80GB', [], [7, 8], seven, { 1: 10, 2: 20, 4: 40, 8: 80 }),
    geometry('H100', [], [7, 8], seven, { 1: 10, 2: 20, 4: 40, 8: 80 }),
    geometry('H100-96GB', ['nvidiagh20096gbhbm3', 'gh200', 'gh20096gb'], [7, 8], seven, { 1: 12, 2: 24, 4: 48, 8: 96 }),
    geometry('H200', [], [7, 8], seven, { 1: 18, 2: 35, 4: 71, 8: 141 }),
    geometry('B200', ['nvidiab200', 'b200sxm', 'b200180gb'], [7, 8], seven, { 1: 23, 2: 45, 4: 90, 8: 180 }),
  ].map((each) => [each.key, each]),
)

/**
 * @param name a key or an alias; case, blanks and punctuation do not matter
 * @throws UnknownNameError listing the boards with MIG
 */
export function findMigGeometry(name: string): MigGeometry {
  const wanted = plain(name)
  const found = Object.values(migGeometries).find(({ key, aliases }) => [plain(key), ...aliases].includes(wanted))
  if (!found) throw new UnknownNameError('GPU with MIG', name, Object.keys(migGeometries))
  return found
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** An instance on a board. */
export interface MigPlacement {
  readonly profile: MigSlot
  /** First of its memory slices. */
  readonly start: number
}

/** Placements of a profile that are free beside the instances there are. */
export function freePlacements(
  profile: Omit<MigSlot, 'computeSlices'>,
  taken: readonly TakenSlices[],
): readonly number[] {
  return profile.placements.filter((start) =>
    taken.every(
      (other) => start + profile.memorySlices <= other.start || start >= other.start + other.profile.memorySlices,
    ),
  )
}

interface TakenSlices {
  readonly start: number
  readonly profile: Pick<MigSlot, 'memorySlices'>
}

/**
 * Every way to fill a board: sets of placements that do not overlap, take no more compute slices than there are, and leave no place for one
 * instance more.
 *
 * @returns each by start; the sets with large instances at the low end first
 */
export function migLayouts({ computeSlices, profiles }: MigGeometry): MigPlacement[][] {
  const layouts: MigPlacement[][] = []
  const large = [...profiles].reverse()
  const fits = (taken: readonly MigPlacement[], left: number) =>
    profiles.some((profile) => profile.computeSlices <= left && freePlacements(profile, taken).length > 0)
  const visit = (from: number, taken: readonly MigPlacement[], left: number): void => {
    if (!fits(taken, left)) {
      layouts.push([...taken])
      return
    }
    for (const profile of large) {
      if (profile.computeSlices > left) continue
      for (const start of freePlacements(profile, taken)) {
        if (start >= from)
          visit(start + profile.memorySlices, [...taken, { profile, start }], left - profile.computeSlices)
      }
    }
  }
  visit(0, [], computeSlices)
  return layouts
}

/** @throws PctodlError `NOT_SUPPORTED` for a profile that the board does not have, naming those that it has */
export function findMigSlot({ key, profiles }: MigGeometry, name: string): MigSlot {
  const found = profiles.find((profile) => profile.name === name)
  if (found) return found
  const known = profiles.map((profile) => profile.name).join(', ')
  throw new PctodlError('NOT_SUPPORTED', `${key} has no MIG profile ${name}; it has ${known}`)
}
