import { UnknownNameError } from './errors.js'

/** A GPU instance profile: the size of a MIG instance and its possible placements. */
export interface MigSlot {
  /** Name in nvidia-smi, e.g. `3g.40gb`. */
  readonly name: string
  /** Compute slices (the number before `g`). */
  readonly computeSlices: number
  /**
   * Number of memory slices, of the board's `MigGeometry.memorySlices`. The instance gets this fraction of the board's
   * memory, DRAM bandwidth and L2.
   */
  readonly memorySlices: number
  /** Possible values of an instance's first memory slice. */
  readonly placements: readonly number[]
}

/** The ways in which MIG can split a board. */
export interface MigGeometry {
  /** Short name used on command lines; also the board's key in `gpuSpecs`, if it is listed there. */
  readonly key: string
  readonly aliases: readonly string[]
  readonly computeSlices: number
  readonly memorySlices: number
  /**
   * Profiles, smallest first. Two may have one compute slice: one of these has a single memory slice, the other two.
   */
  readonly profiles: readonly MigSlot[]
}

/** Compute slices, memory slices and possible first memory slices of a profile. */
type Shape = readonly [computeSlices: number, memorySlices: number, placements: readonly number[]]

/**
 * Profiles of boards with seven compute and eight memory slices. Sizes and instance counts: NVIDIA, MIG User Guide,
 * "Supported MIG Profiles". Placements: output of `nvidia-smi mig -lgipp`, as in the guide's figures.
 */
const seven: readonly Shape[] = [
  [1, 1, [0, 1, 2, 3, 4, 5, 6]],
  [1, 2, [0, 2, 4, 6]],
  [2, 2, [0, 2, 4]],
  [3, 4, [0, 4]],
  [4, 4, [0]],
  [7, 8, [0]],
]

/**
 * Profiles of the A30, which has four compute and four memory slices (same guide). It has no profile with 3 slices and
 * none with double memory.
 */
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
  /** Memory size in profile names, GB, by number of memory slices. */
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
 * Boards with MIG, by key. Profile names are from the MIG User Guide; the 96 GB entries are the H100 of GH200. Profiles
 * with media extensions (`+me`) are omitted, since they take the same slices.
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
 * Finds the MIG geometry of a board.
 * @param name a key or an alias; case, blanks and punctuation are ignored
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

/** An instance at its place on a board. */
export interface MigPlacement {
  readonly profile: MigSlot
  /** Index of its first memory slice. */
  readonly start: number
}

/**
 * Returns where an instance of a profile can be placed without overlapping existing instances, as first memory slices.
 */
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
 * Returns all maximal layouts of a board. A layout is a set of placements that do not overlap and do not exceed the
 * compute slices. It is maximal if no further instance fits.
 *
 * @returns each layout in the order of `start`; layouts with large instances at low positions come first
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
