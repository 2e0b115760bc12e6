/**
 * A seeded random number generator (xoshiro128**, seeded by splitmix32). It is fast, has a state of four words, and
 * gives the same sequence for the same seed on every platform.
 */
export class SeededRandom {
  readonly #state = new Uint32Array(4)
  #spareNormal: number | undefined

  constructor(seed: number) {
    let x = seed >>> 0
    for (let i = 0; i < 4; i++) {
      x = (x + 0x9e3779b9) >>> 0
      let z = x
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
      this.#state[i] = (z ^ (z >>> 16)) >>> 0
    }
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    const s = this.#state
    const product = Math.imul(s[1]!, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0
    const t = s[1]! << 9
    s[2]! ^= s[0]!
    s[3]! ^= s[1]!
    s[1]! ^= s[2]!
    s[0]! ^= s[3]!
    s[2]! ^= t
    s[3] = (s[3]! << 11) | (s[3]! >>> 21)
    return result / 4294967296
  }

  /** Integer in [0, bound). */
  integer(bound: number): number {
    return Math.floor(this.uniform() * bound)
  }

  /** Standard normal (Marsaglia's polar method). */
  normal(): number {
    if (this.#spareNormal !== undefined) {
      const spare = this.#spareNormal
      this.#spareNormal = undefined
      return spare
    }
    for (;;) {
      const u = 2 * this.uniform() - 1
      const v = 2 * this.uniform() - 1
      const s = u * u + v * v
      if (s >= 1 || s === 0) continue
      const factor = Math.sqrt((-2 * Math.log(s)) / s)
      this.#spareNormal = v * factor
      return u * factor
    }
  }
}

/** Derives a 32-bit seed from names (FNV-1a), so that each named part of a run has its own random stream. */
export function seedFrom(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5
  for (const char of parts.join('\u0000')) {
    hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193)
  }
  return hash >>> 0
}
