import { effect, type ReadonlySignal, type Signal, signal } from '@preact/signals'

/**
 * Keeps the answer to the latest question. Only one call runs at a time; questions that are outdated when it ends are
 * skipped.
 */
export class LatestAnswer<Question, Answer> {
  /** The last answer and the question that it answers. */
  readonly answered: Signal<{ readonly question: Question; readonly answer: Answer } | null> = signal(null)
  /** The error of the latest question; empty if it was answered. */
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
   * Asks the worker whenever the question changes.
   *
   * @returns a function that stops this
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
