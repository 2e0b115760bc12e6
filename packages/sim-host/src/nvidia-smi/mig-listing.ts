import { freePlacements } from '@pctodl/platform'
import type { ComputeInstanceState, GpuInstanceState, MigProfileFacts } from '../board-file-layout.js'
import type { BoardReading } from '../board-file-reader.js'
import { computeName } from '../mig-facts.js'

/** A GPU instance and its profile. */
export interface GpuInstanceReading {
  readonly state: GpuInstanceState
  readonly profile: MigProfileFacts
}

/** A MIG device as programs see it: a compute instance and the GPU instance that contains it. */
export interface MigDeviceReading {
  /** Index on its board. */
  readonly index: number
  readonly computeInstance: ComputeInstanceState
  readonly gpuInstance: GpuInstanceReading
  /** Name, e.g. `3g.20gb` if the device fills its GPU instance, or `1c.3g.20gb` if it is a part. */
  readonly name: string
}

export function gpuInstancesOf({ identity, state }: BoardReading): readonly GpuInstanceReading[] {
  return state.gpuInstances.map((each) => ({ state: each, profile: identity.migProfiles[each.profile]! }))
}

export function migDevicesOf(board: BoardReading): readonly MigDeviceReading[] {
  const gpuInstances = gpuInstancesOf(board)
  return board.state.computeInstances.map((computeInstance, index) => {
    const gpuInstance = gpuInstances.find((each) => each.state.id === computeInstance.gpuInstanceId)!
    return { index, computeInstance, gpuInstance, name: computeName(gpuInstance.profile, computeInstance.sliceCount) }
  })
}

/** Returns the first memory slice of each free position for a profile. */
export function freeGpuPlacements(board: BoardReading, profile: MigProfileFacts): readonly number[] {
  const taken = gpuInstancesOf(board).map((each) => ({ start: each.state.start, profile: each.profile }))
  return freePlacements(profile, taken)
}
