import { PctodlError, UnknownNameError } from './errors.js'
import type { GpuSpec } from './gpu-spec.js'

/** A GPU instance profile: how much of a board one MIG instance gets. */
export interface MigProfile {
  /** As nvidia-smi names it, e.g. `3g.40gb`. */
  readonly name: string
  readonly smCount: number
  /** Eighths of the board's memory, DRAM bandwidth and L2. */
  readonly memorySlices: number
  /** First memory slices at which an instance may begin. */
  readonly placements: readonly number[]
}

/** Slices that the memory of a board with MIG is cut into. */
export const MEMORY_SLICES = 8

/** SMs of the profiles on a chip: `nvidia-smi mig -lgip`; placements: NVIDIA, MIG User Guide, as on every 8-slice chip. */
const shapes: Readonly<Record<string, readonly { compute: string; sms: number; memory: number; at: number[] }[]>> = {
  GA100: [
    { compute: '1g', sms: 14, memory: 1, at: [0, 1, 2, 3, 4, 5, 6] },
    { compute: '1g', sms: 14, memory: 2, at: [0, 2, 4, 6] },
    { compute: '2g', sms: 28, memory: 2, at: [0, 2, 4] },
    { compute: '3g', sms: 42, memory: 4, at: [0, 4] },
    { compute: '4g', sms: 56, memory: 4, at: [0] },
    { compute: '7g', sms: 98, memory: 8, at: [0] },
  ],
  GH100: [
    { compute: '1g', sms: 16, memory: 1, at: [0, 1, 2, 3, 4, 5, 6] },
    { compute: '1g', sms: 26, memory: 2, at: [0, 2, 4, 6] },
    { compute: '2g', sms: 32, memory: 2, at: [0, 2, 4] },
    { compute: '3g', sms: 60, memory: 4, at: [0, 4] },
    { compute: '4g', sms: 64, memory: 4, at: [0] },
    { compute: '7g', sms: 132, memory: 8, at: [0] },
  ],
}

/** Gigabytes in the profiles' names, by memory slices. */
const sizes: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  A100: { 1: 5, 2: 10, 4: 20, 8: 40 },
  'A100-80GB': { 1: 10, 2: 20, 4: 40, 8: 80 },
  H100: { 1: 10, 2: 20, 4: 40, 8: 80 },
  H200: { 1: 18, 2: 35, 4: 71, 8: 141 },
}

/** The profiles of a board, smallest first; empty where it has no MIG. */
export function migProfiles(spec: GpuSpec): readonly MigProfile[] {
  const gigabytes = sizes[spec.key]
  if (!gigabytes) return []
  return shapes[spec.chip]!.map(({ compute, sms, memory, at }) => ({
    name: `${compute}.${gigabytes[memory]}gb`,
    smCount: sms,
    memorySlices: memory,
    placements: at,
  }))
}

/**
 * @throws PctodlError `NOT_SUPPORTED` where the board has no MIG
 * @throws UnknownNameError listing the profiles that it has
 */
export function findMigProfile(spec: GpuSpec, name: string): MigProfile {
  const profiles = migProfiles(spec)
  if (profiles.length === 0) throw new PctodlError('NOT_SUPPORTED', `${spec.name} has no MIG; share it with MPS`)
  const profile = profiles.find((candidate) => candidate.name === name)
  if (!profile) {
    const known = profiles.map((candidate) => candidate.name)
    throw new UnknownNameError(`MIG profile of ${spec.name}`, name, known)
  }
  return profile
}

/** An instance as a board of its own: its SMs, and its eighths of memory, bandwidth and L2. */
export function migBoard(spec: GpuSpec, { smCount, memorySlices }: MigProfile): GpuSpec {
  const share = memorySlices / MEMORY_SLICES
  return {
    ...spec,
    smCount,
    memoryBytes: spec.memoryBytes * share,
    memoryBusBits: spec.memoryBusBits * share,
    l2Bytes: spec.l2Bytes * share,
  }
}

/** Placements of a profile that are free beside the instances there are. */
export function freePlacements(
  profile: MigProfile,
  taken: readonly { readonly start: number; readonly profile: MigProfile }[],
): readonly number[] {
  const free = (slice: number) =>
    taken.every((other) => slice < other.start || slice >= other.start + other.profile.memorySlices)
  return profile.placements.filter((start) =>
    Array.from({ length: profile.memorySlices }, (_, i) => start + i).every(free),
  )
}
