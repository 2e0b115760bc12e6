import { PctodlError, UnknownNameError } from './errors.js'
import { type GpuSpec, memoryTypeOf } from './gpu-spec.js'
import { type MigSlot, migGeometries } from './mig-geometry.js'

/** A GPU instance profile with a known number of SMs. */
export interface MigProfile extends MigSlot {
  readonly smCount: number
}

/** Number of memory slices of every simulated board with MIG. */
export const MEMORY_SLICES = 8

/** SM counts of a chip's profiles, in the order of `MigGeometry.profiles`, from `nvidia-smi mig -lgip`. */
const smCounts: Readonly<Record<string, readonly number[]>> = {
  GA100: [14, 14, 28, 42, 56, 98],
  GH100: [16, 26, 32, 60, 64, 132],
}

/** Returns the MIG profiles of a board, smallest first; empty for a board without MIG or with unknown SM counts. */
export function migProfiles(spec: GpuSpec): readonly MigProfile[] {
  const geometry = migGeometries[spec.key]
  const counts = smCounts[spec.chip]
  if (!geometry || !counts) return []
  return geometry.profiles.map((profile, i) => ({ ...profile, smCount: counts[i]! }))
}

/**
 * Finds a profile by its name.
 * @throws PctodlError `NOT_SUPPORTED` for a board without MIG
 * @throws UnknownNameError listing the board's profiles
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

/**
 * Describes an instance like a separate board, with the instance's SMs and its eighths of memory, bandwidth and L2.
 */
export function migBoard(spec: GpuSpec, { smCount, memorySlices }: MigProfile): GpuSpec {
  const share = memorySlices / MEMORY_SLICES
  return {
    ...spec,
    // The type is stated, because deriving it from the instance's narrower bus would be wrong.
    memoryType: memoryTypeOf(spec),
    smCount,
    memoryBytes: spec.memoryBytes * share,
    memoryBusBits: spec.memoryBusBits * share,
    l2Bytes: spec.l2Bytes * share,
  }
}
