import { PctodlError, UnknownNameError } from './errors.js'
import { type GpuSpec, memoryTypeOf } from './gpu-spec.js'
import { type MigSlot, migGeometries } from './mig-geometry.js'

/** A GPU instance profile of a board whose SMs are known. */
export interface MigProfile extends MigSlot {
  readonly smCount: number
}

/** Slices that the memory of a simulated board with MIG is cut into. */
export const MEMORY_SLICES = 8

/** SMs of the profiles on a chip, in the order of `MigGeometry.profiles`: `nvidia-smi mig -lgip`. */
const smCounts: Readonly<Record<string, readonly number[]>> = {
  GA100: [14, 14, 28, 42, 56, 98],
  GH100: [16, 26, 32, 60, 64, 132],
}

/** The profiles of a board, smallest first; empty where it has no MIG, or its SMs are not known. */
export function migProfiles(spec: GpuSpec): readonly MigProfile[] {
  const geometry = migGeometries[spec.key]
  const counts = smCounts[spec.chip]
  if (!geometry || !counts) return []
  return geometry.profiles.map((profile, i) => ({ ...profile, smCount: counts[i]! }))
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
    // Its share of the bus is too narrow to tell.
    memoryType: memoryTypeOf(spec),
    smCount,
    memoryBytes: spec.memoryBytes * share,
    memoryBusBits: spec.memoryBusBits * share,
    l2Bytes: spec.l2Bytes * share,
  }
}
