import { type GpuSpec, MEMORY_SLICES, migProfiles } from '@pctodl/platform'
import type { MigProfileFacts } from './board-file-layout.js'

const MIB = 1024 ** 2

/** The driver's numbers of a profile by compute and memory slices (MIG User Guide; `nvml.h`). */
const numbers: Readonly<Record<string, { readonly id: number; readonly nvmlProfile: number }>> = {
  '1/1': { id: 19, nvmlProfile: 0 },
  '1/2': { id: 15, nvmlProfile: 9 },
  '2/2': { id: 14, nvmlProfile: 1 },
  '3/4': { id: 9, nvmlProfile: 2 },
  '4/4': { id: 5, nvmlProfile: 3 },
  '7/8': { id: 0, nvmlProfile: 4 },
}

/** Copy, decoding, JPEG and optical-flow engines of the profiles by chip, as `nvidia-smi mig -lgip` lists them. */
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

/** SMs per compute slice, for instances that use only part of their GPU instance. */
const smPerSlice: Readonly<Record<string, number>> = { GA100: 14, GH100: 16 }

/** MIG profiles of a board as the driver reports them; empty if it has none. */
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
      placementCount: profile.placements.length,
      placements: profile.placements,
    }
  })
}

/**
 * The driver numbers GPU instances by position: 0 for all slices, 1 and 2 for the halves, then 3 to 6, then 7 to 14.
 */
export function gpuInstanceId(memorySlices: number, start: number): number {
  return MEMORY_SLICES / memorySlices - 1 + start / memorySlices
}

/** Sizes of compute instances in slices, with the driver's numbers. */
export const computeProfiles: readonly { readonly sliceCount: number; readonly id: number }[] = [
  { sliceCount: 1, id: 0 },
  { sliceCount: 2, id: 1 },
  { sliceCount: 3, id: 2 },
  { sliceCount: 4, id: 3 },
  { sliceCount: 7, id: 4 },
]

/**
 * Sizes of compute instances that fit a GPU instance of this many slices; 3 of 4, and sizes between 4 and 7, do not
 * exist.
 */
export function computeSizes(gpuInstanceSlices: number): readonly number[] {
  return computeProfiles
    .map((profile) => profile.sliceCount)
    .filter((slices) => slices <= gpuInstanceSlices && !(slices === 3 && gpuInstanceSlices === 4))
}

/** SMs of a compute instance: those of its GPU instance, or of its slices. */
export function computeSms(
  gpuInstance: Pick<MigProfileFacts, 'sliceCount' | 'smCount' | 'smPerSlice'>,
  slices: number,
): number {
  return slices === gpuInstance.sliceCount ? gpuInstance.smCount : slices * gpuInstance.smPerSlice
}

/** First slices of the placements of a compute instance; placements do not overlap. */
export function computePlacements(gpuInstanceSlices: number, slices: number): readonly number[] {
  return Array.from({ length: Math.floor(gpuInstanceSlices / slices) }, (_, i) => i * slices)
}

/** Free placements, given a bit mask of taken slices. */
export function freeComputePlacements(gpuInstanceSlices: number, slices: number, taken: number): readonly number[] {
  return computePlacements(gpuInstanceSlices, slices).filter((start) => (taken & (((1 << slices) - 1) << start)) === 0)
}

/** `3g.20gb` for a whole GPU instance, `1c.3g.20gb` for part of it. */
export function computeName(gpuInstance: Pick<MigProfileFacts, 'name' | 'sliceCount'>, slices: number): string {
  return slices === gpuInstance.sliceCount ? gpuInstance.name : `${slices}c.${gpuInstance.name}`
}
