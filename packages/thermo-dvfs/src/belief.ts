/** Evidence comes ten times a second and is not independent from one reading to the next: so much time counts once. */
const INDEPENDENT_MS = 200
/** No evidence, however clear, makes anything impossible. */
const LEAST = 1e-4

/**
 * Probabilities of hypotheses of which one is true at a time, followed through evidence: a hidden Markov model whose states
 * may follow each other at one rate.
 */
export class Belief<Name extends string> {
  readonly names: readonly Name[]
  readonly #probabilities: number[]
  readonly #changesPerS: number

  /** @param state probabilities of an earlier belief, taken over and changed in place */
  constructor(names: readonly Name[], first: Name, changesPerS: number, state?: number[]) {
    this.names = names
    this.#changesPerS = changesPerS
    this.#probabilities = state ?? names.map(() => 0)
    if (state === undefined) this.set(first)
  }

  get state(): number[] {
    return this.#probabilities
  }

  of(name: Name): number {
    return this.#probabilities[this.names.indexOf(name)]!
  }

  get mostProbable(): Name {
    let best = 0
    for (let i = 1; i < this.#probabilities.length; i++) {
      if (this.#probabilities[i]! > this.#probabilities[best]!) best = i
    }
    return this.names[best]!
  }

  /** This is so: we were told. */
  set(name: Name): void {
    const others = LEAST
    for (let i = 0; i < this.names.length; i++) {
      this.#probabilities[i] = this.names[i] === name ? 1 - others * (this.names.length - 1) : others
    }
  }

  /** @param likelihood of what was seen, under each hypothesis; any common factor */
  update(durationMs: number, likelihood: (name: Name) => number): void {
    const p = this.#probabilities
    const leave = Math.min(0.5, (this.#changesPerS * durationMs) / 1000)
    const weight = Math.min(1, durationMs / INDEPENDENT_MS)
    let sum = 0
    for (let i = 0; i < p.length; i++) {
      const prior = p[i]! * (1 - leave) + ((1 - p[i]!) * leave) / (p.length - 1)
      p[i] = prior * Math.max(1e-9, likelihood(this.names[i]!)) ** weight
      sum += p[i]!
    }
    for (let i = 0; i < p.length; i++) p[i] = Math.max(LEAST, p[i]! / sum)
  }
}
