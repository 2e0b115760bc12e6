/**
 * A binary heap of numbered items with keys that may change. Among equal keys, the item with the smaller number comes
 * first. Library heaps hold objects and cannot locate an item; this heap updates or removes any item in logarithmic
 * time.
 */
export class IndexedHeap {
  #heap: Int32Array
  #position: Int32Array
  #key: Float64Array
  #size = 0

  /**
   * @param capacity initial capacity, for items 0 to capacity - 1; the heap grows when an item with a larger number is
   * added
   */
  constructor(capacity = 16) {
    this.#heap = new Int32Array(capacity)
    this.#position = new Int32Array(capacity).fill(-1)
    this.#key = new Float64Array(capacity)
  }

  get size(): number {
    return this.#size
  }

  /** The smallest key, Infinity for an empty heap. */
  get firstKey(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#key[this.#heap[0]!]!
  }

  /** The item with the smallest key; undefined behaviour for an empty heap. */
  get first(): number {
    return this.#heap[0]!
  }

  set(item: number, key: number): void {
    if (item >= this.#key.length) this.#grow(2 * item + 1)
    this.#key[item] = key
    let at = this.#position[item]!
    if (at < 0) {
      at = this.#size++
      this.#heap[at] = item
      this.#position[item] = at
    }
    this.#down(this.#up(at))
  }

  /** Remove an item, if the heap contains it. */
  remove(item: number): void {
    const at = this.#position[item] ?? -1
    if (at < 0) return
    this.#position[item] = -1
    const last = this.#heap[--this.#size]!
    if (last === item) return
    this.#heap[at] = last
    this.#position[last] = at
    this.#down(this.#up(at))
  }

  #grow(capacity: number): void {
    const [heap, position, key] = [this.#heap, this.#position, this.#key]
    this.#heap = new Int32Array(capacity)
    this.#position = new Int32Array(capacity).fill(-1)
    this.#key = new Float64Array(capacity)
    this.#heap.set(heap)
    this.#position.set(position)
    this.#key.set(key)
  }

  #before(a: number, b: number): boolean {
    const difference = this.#key[a]! - this.#key[b]!
    return difference < 0 || (difference === 0 && a < b)
  }

  #up(start: number): number {
    const heap = this.#heap
    const item = heap[start]!
    let at = start
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#before(item, heap[parent]!)) break
      this.#put(at, heap[parent]!)
      at = parent
    }
    this.#put(at, item)
    return at
  }

  #down(start: number): void {
    const heap = this.#heap
    const item = heap[start]!
    let at = start
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.#size) break
      if (child + 1 < this.#size && this.#before(heap[child + 1]!, heap[child]!)) child++
      if (!this.#before(heap[child]!, item)) break
      this.#put(at, heap[child]!)
      at = child
    }
    this.#put(at, item)
  }

  #put(at: number, item: number): void {
    this.#heap[at] = item
    this.#position[item] = at
  }
}
