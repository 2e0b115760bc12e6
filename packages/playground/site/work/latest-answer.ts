import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals'

/** The answer to the newest question: one call at a time; outdated questions are skipped. */
export class LatestAnswer<Question, Answer> {
  /** The last answer, and its question. */
  readonly answered: Signal<{ readonly question: Question; readonly answer: Answer } | null> = signal(null)
  /** Why there is no answer; empty if there is one. */
  readonly problem: Signal<string> = signal('')
  readonly #question: ReadonlySignal<Question>
  readonly #ask: (question: Question) => Promise<Answer>
  #asking = false
  #settled: Question | undefined

  constructor(question: ReadonlySignal<Question>, ask: (question: Question) => Promise<Answer>) {
    this.#question = question
    this.#ask = ask
  }

  /**
   * Ask whenever the question changes.
   *
   * @returns a function that stops it
   */
  follow(): () => void {
    return effect(() => {
      void this.#question.value
      void this.#askAll()
    })
  }

  async #askAll(): Promise<void> {
    if (this.#asking) return
    this.#asking = true
    try {
      while (this.#settled !== this.#question.peek()) {
        const question = this.#question.peek()
        try {
          const answer = await this.#ask(question)
          this.answered.value = { question, answer }
          this.problem.value = ''
        } catch (error) {
          this.problem.value = (error as Error).message
        }
        this.#settled = question
      }
    } finally {
      this.#asking = false
    }
  }
}
