import { IndexedHeap } from '@pctodl/numerics'
import { COMPUTE_SLICES, type SegmentSize } from '@pctodl/platform'

/** A segment in the published code's table. Only its start slot contains it. */
export interface TableSegment {
  readonly service: number
  readonly sizeGpcs: SegmentSize
}

/**
 * Order in which the published code tries start slots. It checks only whether the start slot is empty, not whether
 * another segment covers it.
 */
const startOrder: Readonly<Record<SegmentSize, readonly number[]>> = {
  7: [0],
  4: [0],
  3: [4],
  2: [0, 4, 2],
  1: [0, 6, 4, 1, 2, 3, 5],
}

/**
 * The published code's GPUs with its placement rule: best fit in free GPCs, lowest index among equals, at most one
 * 3-GPC segment. With a heap per number of free GPCs, a placement takes logarithmic time and does not scan the whole
 * table.
 */
export class GpuTable {
  readonly #slots: (TableSegment | undefined)[][] = []
  readonly #free: number[] = []
  /** GPUs ordered by index, in one heap per number of free GPCs. */
  readonly #waiting = Array.from({ length: COMPUTE_SLICES + 1 }, () => new IndexedHeap())
  /** The GPUs without a 3-GPC segment, in heaps of the same kind. */
  readonly #waitingForThree = Array.from({ length: COMPUTE_SLICES + 1 }, () => new IndexedHeap())

  /** Index of the highest GPU ever used, plus one. */
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
    // A GPU with a free GPC has an empty slot, since at most six segments occupy seven slots.
    slots[start ?? 0] = segment
    this.#list(gpu, this.#free[gpu]! - segment.sizeGpcs)
  }

  remove(gpu: number, slot: number): void {
    const { sizeGpcs } = this.#slots[gpu]![slot]!
    this.#slots[gpu]![slot] = undefined
    this.#list(gpu, this.#free[gpu]! + sizeGpcs)
  }

  /** Moves a GPU to the heaps of its number of free GPCs. */
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
