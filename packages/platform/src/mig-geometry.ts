import { PctodlError, UnknownNameError } from './errors.js'

/** A GPU instance profile: the size of a MIG instance and its possible placements. */
export interface MigSlot {
  /** Name in nvidia-smi, e.g. `3g.40gb`. */
  readonly name: string
  /** Compute slices (the number before `g`). */
  readonly computeSlices: number
  /** Slices of the board's memory, DRAM bandwidth and L2, out of `MigGeometry.memorySlices`. */
  readonly memorySlices: number
  /** Possible first memory slices of an instance. */
  readonly placements: readonly number[]
}

/** The ways in which MIG can split a board. */
export interface MigGeometry {
  /** Short name used on command lines; the key in `gpuSpecs` where the board is there. */
  readonly key: string
  readonly aliases: readonly string[]
  readonly computeSlices: number
  readonly memorySlices: number
  /** Smallest first. There may be two profiles with one compute slice: with one and with two memory slices. */
  readonly profiles: readonly MigSlot[]
}

/** Compute slices, memory slices and possible first memory slices of a profile. */
type Shape = readonly [computeSlices: number, memorySlices: number, placements: readonly number[]]

/**
 * Boards with seven compute and eight memory slices. Sizes and numbers of instances: NVIDIA, MIG User Guide, "Supported
 * MIG Profiles". Placements: output of `nvidia-smi mig -lgipp`, as in the guide's figures.
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
 * The A30 has four compute and four memory slices (same guide). It has no 3-slice profile and none with double memory.
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
  /** Size in GB that profile names use for a number of memory slices. */
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
 * Boards with MIG, by key. Profile names: MIG User Guide; those with 96 GB: H100 on GH200. Profiles with media
 * extensions (`+me`) are omitted, since they take the same slices.
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

/** An instance on a board. */
export interface MigPlacement {
  readonly profile: MigSlot
  /** Index of its first memory slice. */
  readonly start: number
}

/** Placements of a profile that do not overlap the existing instances. */
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
 * All maximal layouts of a board: sets of placements that do not overlap, stay within the compute slices, and leave no
 * room for another instance.
 *
 * @returns each layout in order of start; layouts with large instances at the low end first
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

/** @throws PctodlError `NOT_SUPPORTED` for an unknown profile, listing those of the board */
export function findMigSlot({ key, profiles }: MigGeometry, name: string): MigSlot {
  const found = profiles.find((profile) => profile.name === name)
  if (found) return found
  const known = profiles.map((profile) => profile.name).join(', ')
  throw new PctodlError('NOT_SUPPORTED', `${key} has no MIG profile ${name}; it has ${known}`)
}
