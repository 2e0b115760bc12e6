import { type GpuSpec, MEMORY_SLICES, migProfiles } from '@pctodl/platform'
import type { MigProfileFacts } from './board-file-layout.js'

const MIB = 1024 ** 2

/** Profile numbers of the driver, by `compute slices/memory slices` (MIG User Guide; `nvml.h`). */
const numbers: Readonly<Record<string, { readonly id: number; readonly nvmlProfile: number }>> = {
  '1/1': { id: 19, nvmlProfile: 0 },
  '1/2': { id: 15, nvmlProfile: 9 },
  '2/2': { id: 14, nvmlProfile: 1 },
  '3/4': { id: 9, nvmlProfile: 2 },
  '4/4': { id: 5, nvmlProfile: 3 },
  '7/8': { id: 0, nvmlProfile: 4 },
}

/**
 * Number of copy engines, decoders, JPEG engines and optical-flow engines, by chip and profile, as listed by
 * `nvidia-smi mig -lgip`.
 */
const engines: Readonly<Record<string, Readonly<Record<string, readonly [number, number, number, number]>>>> = {
  GA100: {
    '1/1': [1, 0, 0, 0],
    '1/2': [1, 1, 0, 0],
    '2/2': [2, 1, 0, 0],
    '3/4': [3, 2, 0, 0],
    '4/4': [4, 2, 0, 0],
    '7/8': [7, 5, 1, 1],
  },
  GH100: {
    '1/1': [1, 1, 1, 0],
    '1/2': [1, 1, 1, 0],
    '2/2': [2, 2, 2, 0],
    '3/4': [3, 3, 3, 0],
    '4/4': [4, 4, 4, 0],
    '7/8': [8, 7, 7, 1],
  },
}

/** Number of SMs per compute slice, by chip, for compute instances that occupy only part of their GPU instance. */
const smPerSlice: Readonly<Record<string, number>> = { GA100: 14, GH100: 16 }

/** Returns the MIG profiles of a board as the driver reports them; empty if the board does not support MIG. */
export function migProfileFacts(spec: GpuSpec): readonly MigProfileFacts[] {
  return migProfiles(spec).map((profile) => {
    const sliceCount = profile.computeSlices
    const shape = `${sliceCount}/${profile.memorySlices}`
    const [copyEngines, decoders, jpegs, ofas] = engines[spec.chip]![shape]!
    return {
      name: profile.name,
      memoryMb: Math.floor((spec.memoryBytes * profile.memorySlices) / MEMORY_SLICES / MIB),
      ...numbers[shape]!,
      sliceCount,
      instanceCount: profile.placements.length,
      smCount: profile.smCount,
      smPerSlice: smPerSlice[spec.chip]!,
      copyEngines,
      decoders,
      jpegs,
      ofas,
      memorySlices: profile.memorySlices,
      placements: profile.placements,
    }
  })
}

/**
 * Returns the driver's id of a GPU instance, which follows from its size and position: 0 for the whole board, 1 and 2
 * for halves, 3 to 6 for quarters, 7 to 14 for eighths of its memory.
 */
export function gpuInstanceId(memorySlices: number, start: number): number {
  return MEMORY_SLICES / memorySlices - 1 + start / memorySlices
}

/** The driver's profile ids of compute instances, by their possible sizes in slices. */
export const computeProfileIds: Readonly<Record<number, number>> = { 1: 0, 2: 1, 3: 2, 4: 3, 7: 4 }

/**
 * Returns the possible sizes of compute instances, in slices, in a GPU instance of the given number of slices. As in
 * the driver, sizes 5 and 6 do not exist, and size 3 is not possible in a GPU instance of 4 slices.
 */
export function computeSizes(gpuInstanceSlices: number): readonly number[] {
  return Object.keys(computeProfileIds)
    .map(Number)
    .filter((slices) => slices <= gpuInstanceSlices && !(slices === 3 && gpuInstanceSlices === 4))
}

/**
 * Returns the number of SMs of a compute instance. If it fills its GPU instance, it has all SMs of the GPU instance.
 */
export function computeSms(
  gpuInstance: Pick<MigProfileFacts, 'sliceCount' | 'smCount' | 'smPerSlice'>,
  slices: number,
): number {
  return slices === gpuInstance.sliceCount ? gpuInstance.smCount : slices * gpuInstance.smPerSlice
}

/**
 * Returns the first slice of each position at which a compute instance can be placed. The positions do not overlap.
 */
export function computePlacements(gpuInstanceSlices: number, slices: number): readonly number[] {
  return Array.from({ length: Math.floor(gpuInstanceSlices / slices) }, (_, i) => i * slices)
}

/**
 * Returns the first slice of each free position for a compute instance of `slices` slices. `taken` is a bit mask of the
 * occupied slices.
 */
export function freeComputePlacements(gpuInstanceSlices: number, slices: number, taken: number): readonly number[] {
  return computePlacements(gpuInstanceSlices, slices).filter((start) => (taken & (((1 << slices) - 1) << start)) === 0)
}

/**
 * Returns the name of a compute instance: `3g.20gb` if it fills the GPU instance, or e.g. `1c.3g.20gb` if it is a part.
 */
export function computeName(gpuInstance: Pick<MigProfileFacts, 'name' | 'sliceCount'>, slices: number): string {
  return slices === gpuInstance.sliceCount ? gpuInstance.name : `${slices}c.${gpuInstance.name}`
}
