import type { LayerGraph } from '@pctodl/model-zoo'
import {
  findMigProfile,
  freePlacements,
  type GpuSpec,
  InvalidInputError,
  type MigProfile,
  migBoard,
  PctodlError,
} from '@pctodl/platform'
import type { BoardPhysics } from './board-physics.js'
import type { Execution } from './execution.js'
import { GpuPartition } from './gpu-partition.js'

/** A MIG instance that exists on a board. */
export interface MigInstance {
  readonly id: number
  readonly profile: MigProfile
  /** First memory slice of the instance. */
  readonly start: number
  /** The instance described like a board: its SMs, memory, bandwidth and L2. */
  readonly spec: GpuSpec
}

/** The MIG instances of a board. They share only clocks, power and heat. */
export class MigPartitions {
  readonly #spec: GpuSpec
  readonly #physics: BoardPhysics
  #execution: Execution
  readonly #byInstance = new Map<MigInstance, GpuPartition>()
  partitions: readonly GpuPartition[] = []
  #nextId = 1

  constructor(spec: GpuSpec, physics: BoardPhysics, execution: Execution) {
    this.#spec = spec
    this.#physics = physics
    this.#execution = execution
  }

  get any(): boolean {
    return this.partitions.length > 0
  }

  addNetwork(graph: LayerGraph): void {
    this.#execution = { ...this.#execution, networks: [...(this.#execution.networks ?? []), graph] }
    for (const partition of this.partitions) partition.addNetwork(graph)
  }

  /**
   * Creates an instance.
   *
   * @param wanted first memory slice; default: the first free placement
   */
  create(name: string, mps: 'running' | 'off', wanted?: number): MigInstance {
    const profile = findMigProfile(this.#spec, name)
    if (wanted !== undefined && !profile.placements.includes(wanted)) {
      throw new InvalidInputError('start', wanted, `a placement of ${name}: ${profile.placements.join(', ')}`)
    }
    const taken = [...this.#byInstance.keys()]
    const start = freePlacements(profile, taken).find((each) => wanted === undefined || each === wanted)
    if (start === undefined) {
      const present = taken.map((instance) => `${instance.profile.name} at ${instance.start}`).join(', ')
      throw new PctodlError('NO_ROOM', `no placement for ${name} on ${this.#spec.name} beside ${present}; destroy one`)
    }
    const instance: MigInstance = { id: this.#nextId++, profile, start, spec: migBoard(this.#spec, profile) }
    const share = instance.spec.memoryBytes / this.#spec.memoryBytes
    const partition = new GpuPartition(instance.spec, this.#physics, { ...this.#execution, mps }, share)
    this.#byInstance.set(instance, partition)
    this.partitions = [...this.#byInstance.values()]
    return instance
  }

  destroy(instance: MigInstance): void {
    if (this.partition(instance).processes.length > 0) {
      throw new PctodlError('IN_USE', `processes run on MIG instance ${instance.id}; end them before destroying it`)
    }
    this.#byInstance.delete(instance)
    this.partitions = [...this.#byInstance.values()]
  }

  partition(instance: MigInstance): GpuPartition {
    const partition = this.#byInstance.get(instance)
    if (!partition) {
      throw new PctodlError('NO_SUCH_INSTANCE', `MIG instance ${instance.id} does not exist; create it on this board`)
    }
    return partition
  }
}
