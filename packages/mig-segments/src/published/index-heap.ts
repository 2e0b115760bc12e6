/** A binary heap of integers, least first. */
export class IndexHeap {
  readonly #items: number[] = []

  get least(): number | undefined {
    return this.#items[0]
  }

  push(item: number): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (items[parent]! <= item) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = item
  }

  pop(): void {
    const items = this.#items
    const moved = items.pop()
    if (moved === undefined || items.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && items[child + 1]! < items[child]!) child++
      if (items[child]! >= moved) break
      items[at] = items[child]!
      at = child
    }
    items[at] = moved
  }
}
