import { IndexedHeap } from '@pctodl/numerics'
import { COMPUTE_SLICES, type SegmentSize } from '@pctodl/platform'

/** A segment in the published code's table of seven slots per GPU. Only the slot where it starts refers to it. */
export interface TableSegment {
  readonly service: number
  readonly sizeGpcs: SegmentSize
}

/**
 * Order in which the published code tries the slots for a segment of each size. It checks only that the start slot is
 * empty, not that no other segment covers it.
 */
const startOrder: Readonly<Record<SegmentSize, readonly number[]>> = {
  7: [0],
  4: [0],
  3: [4],
  2: [0, 4, 2],
  1: [0, 6, 4, 1, 2, 3, 5],
}

/**
 * The published code's table of GPUs, with its placement rule: the GPU with the fewest free GPCs that suffice; among
 * equals the lowest index; at most one 3-GPC segment per GPU. GPUs are in one heap per number of free GPCs, so that a
 * placement does not scan the table.
 */
export class GpuTable {
  readonly #slots: (TableSegment | undefined)[][] = []
  readonly #free: number[] = []
  /** GPUs ordered by index, in one heap per number of free GPCs. */
  readonly #waiting = Array.from({ length: COMPUTE_SLICES + 1 }, () => new IndexedHeap())
  /** As `#waiting`, but only for the GPUs that have no 3-GPC segment. */
  readonly #waitingForThree = Array.from({ length: COMPUTE_SLICES + 1 }, () => new IndexedHeap())

  /** Number of GPUs that were ever used. */
  get length(): number {
    return this.#free.length
  }

  freeGpcs(gpu: number): number {
    return this.#free[gpu]!
  }

  slots(gpu: number): readonly (TableSegment | undefined)[] {
    return this.#slots[gpu]!
  }

  place(segment: TableSegment): void {
    const gpu = this.#bestFit(segment.sizeGpcs)
    const slots = this.#slots[gpu]!
    const start = startOrder[segment.sizeGpcs].find((slot) => slots[slot] === undefined)
    // A GPU with a free GPC has an empty slot, because it has at most six segments for seven slots.
    slots[start ?? 0] = segment
    this.#list(gpu, this.#free[gpu]! - segment.sizeGpcs)
  }

  remove(gpu: number, slot: number): void {
    const { sizeGpcs } = this.#slots[gpu]![slot]!
    this.#slots[gpu]![slot] = undefined
    this.#list(gpu, this.#free[gpu]! + sizeGpcs)
  }

  /** Sets the number of free GPCs of a GPU and moves the GPU to the heaps of this number. */
  #list(gpu: number, free: number): void {
    for (const waiting of [this.#waiting, this.#waitingForThree]) waiting[this.#free[gpu]!]!.remove(gpu)
    this.#free[gpu] = free
    this.#waiting[free]!.set(gpu, gpu)
    if (!this.#holdsThree(gpu)) this.#waitingForThree[free]!.set(gpu, gpu)
  }

  #holdsThree(gpu: number): boolean {
    return this.#slots[gpu]![4]?.sizeGpcs === 3
  }

  #bestFit(size: SegmentSize): number {
    const waiting = size === 3 ? this.#waitingForThree : this.#waiting
    for (let free: number = size; free <= COMPUTE_SLICES; free++) {
      const heap = waiting[free]!
      if (heap.size > 0) return heap.first
    }
    const gpu = this.#free.length
    this.#free.push(COMPUTE_SLICES)
    this.#slots.push(new Array<TableSegment | undefined>(COMPUTE_SLICES).fill(undefined))
    return gpu
  }
}
