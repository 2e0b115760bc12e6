import type { MigInstance, SimulatedGpu } from '@pctodl/gpu-sim'
import type { SetterAnswer } from './board-file.js'
import {
  ANY_PLACEMENT,
  type BoardIdentity,
  COMPUTE_INSTANCE_IDS,
  type ComputeInstanceState,
  type GpuInstanceState,
  type MigProfileFacts,
} from './board-file-layout.js'
import { migUuid } from './driver-facts.js'
import { computeSizes, computeSms, freeComputePlacements, gpuInstanceId } from './mig-facts.js'
import { nvmlReturn } from './nvml-return.js'

interface HostGpuInstance {
  readonly id: number
  readonly profileIndex: number
  readonly profile: MigProfileFacts
  readonly instance: MigInstance
  readonly computeInstances: Map<number, ComputeInstanceState>
}

/** A MIG device: a compute instance and the GPU instance that contains it. */
export interface HostMigDevice {
  readonly uuid: string
  readonly gpuInstanceId: number
  readonly computeInstanceId: number
  readonly instance: MigInstance
  /** Fraction of the GPU instance's SMs that the compute instance has, 0..1. */
  readonly smShare: number
}

const failed = (result: number): SetterAnswer => ({ result, value: 0 })
const done = (value = 0): SetterAnswer => ({ result: nvmlReturn.success, value })

/** MIG state of one board, as the driver keeps it: the MIG mode, the GPU instances and their compute instances. */
export class HostMig {
  readonly #gpu: SimulatedGpu
  readonly #identity: BoardIdentity
  readonly #gpuInstances = new Map<number, HostGpuInstance>()
  #enabled = false
  #pending = false

  constructor(gpu: SimulatedGpu, identity: BoardIdentity) {
    this.#gpu = gpu
    this.#identity = identity
  }

  get enabled(): boolean {
    return this.#enabled
  }

  get pending(): boolean {
    return this.#pending
  }

  /** MIG devices of the board, in the order of their indices. */
  get devices(): readonly HostMigDevice[] {
    return this.#sorted().flatMap(({ id, profile, instance, computeInstances }) =>
      [...computeInstances.values()]
        .sort((a, b) => a.id - b.id)
        .map((computeInstance) => ({
          uuid: computeInstance.uuid,
          gpuInstanceId: id,
          computeInstanceId: computeInstance.id,
          instance,
          smShare: computeInstance.smCount / profile.smCount,
        })),
    )
  }

  /**
   * Requests a MIG mode. The mode changes at once if no process runs on the board and no instances exist. Otherwise the
   * change stays pending until the next request.
   *
   * @param inUse whether processes run on the board
   * @returns an answer whose value is NVML's return code of activating the mode
   */
  setMode(mode: number, inUse: boolean): SetterAnswer {
    if (!this.#identity.hasMig) return failed(nvmlReturn.notSupported)
    if (mode > 1) return failed(nvmlReturn.invalidArgument)
    this.#pending = mode === 1
    if (this.#pending === this.#enabled) return done()
    if (inUse || this.#gpuInstances.size > 0) return done(nvmlReturn.inUse)
    this.#enabled = this.#pending
    return done()
  }

  createGpuInstance(profileId: number, start: number): SetterAnswer {
    if (!this.#enabled) return failed(nvmlReturn.notSupported)
    const profileIndex = this.#identity.migProfiles.findIndex((profile) => profile.id === profileId)
    const profile = this.#identity.migProfiles[profileIndex]
    if (!profile || (start !== ANY_PLACEMENT && !profile.placements.includes(start))) {
      return failed(nvmlReturn.invalidArgument)
    }
    let instance: MigInstance
    try {
      instance = this.#gpu.createMigInstance(profile.name, start === ANY_PLACEMENT ? {} : { start })
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'NO_ROOM') throw error
      return failed(nvmlReturn.insufficientResources)
    }
    const id = gpuInstanceId(profile.memorySlices, instance.start)
    this.#gpuInstances.set(id, { id, profileIndex, profile, instance, computeInstances: new Map() })
    return done(id)
  }

  destroyGpuInstance(id: number): SetterAnswer {
    const found = this.#gpuInstances.get(id)
    if (!found) return failed(nvmlReturn.notFound)
    if (found.computeInstances.size > 0) return failed(nvmlReturn.inUse)
    this.#gpu.destroyMigInstance(found.instance)
    this.#gpuInstances.delete(id)
    return done()
  }

  createComputeInstance(gpuInstanceNumber: number, sliceCount: number, start: number): SetterAnswer {
    const found = this.#gpuInstances.get(gpuInstanceNumber)
    if (!found) return failed(nvmlReturn.notFound)
    const { profile, computeInstances } = found
    if (!computeSizes(profile.sliceCount).includes(sliceCount)) return failed(nvmlReturn.invalidArgument)
    const place = freeComputePlacements(profile.sliceCount, sliceCount, takenSlices(found)).find(
      (each) => start === ANY_PLACEMENT || each === start,
    )
    if (place === undefined) return failed(nvmlReturn.insufficientResources)
    const id = Array.from({ length: COMPUTE_INSTANCE_IDS }, (_, i) => i).find((each) => !computeInstances.has(each))!
    computeInstances.set(id, {
      uuid: migUuid(this.#identity.uuid, gpuInstanceNumber, id),
      gpuInstanceId: gpuInstanceNumber,
      id,
      sliceCount,
      start: place,
      smCount: computeSms(profile, sliceCount),
    })
    return done(id)
  }

  /**
   * Destroys a compute instance that no process uses.
   *
   * @param inUse whether processes use the instance
   */
  destroyComputeInstance(gpuInstanceNumber: number, id: number, inUse: boolean): SetterAnswer {
    const found = this.#gpuInstances.get(gpuInstanceNumber)
    if (!found?.computeInstances.has(id)) return failed(nvmlReturn.notFound)
    if (inUse) return failed(nvmlReturn.inUse)
    found.computeInstances.delete(id)
    return done()
  }

  /**
   * Returns the states of all GPU instances, by id.
   *
   * @param usedBytes returns the memory of the processes on a GPU instance, bytes
   */
  gpuInstanceStates(usedBytes: (id: number) => number): GpuInstanceState[] {
    const { reservedBytes } = this.#gpu.physics.process
    return this.#sorted().map((each) => ({
      usedBytes: usedBytes(each.id),
      reservedBytes: reservedBytes * (each.instance.spec.memoryBytes / this.#gpu.spec.memoryBytes),
      id: each.id,
      profile: each.profileIndex,
      start: each.instance.start,
      takenSlices: takenSlices(each),
    }))
  }

  computeInstanceStates(): ComputeInstanceState[] {
    return this.#sorted().flatMap(({ computeInstances }) => [...computeInstances.values()].sort((a, b) => a.id - b.id))
  }

  #sorted(): HostGpuInstance[] {
    return [...this.#gpuInstances.values()].sort((a, b) => a.id - b.id)
  }
}

function takenSlices({ computeInstances }: HostGpuInstance): number {
  let taken = 0
  for (const { sliceCount, start } of computeInstances.values()) taken |= ((1 << sliceCount) - 1) << start
  return taken
}
