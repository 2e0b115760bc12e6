import { effect, type Signal, signal } from '@preact/signals'
import type { KnownBoards } from '../work/known-boards.js'
import { LatestAnswer } from '../work/latest-answer.js'
import type { WorkerThread } from '../work/worker-thread.js'
import type { PlainAnswer, ServicesAnswer } from './services-answer.js'
import type { ServicesQuestion } from './services-question.js'

/** What the room of plans for services knows; it asks its worker whenever its question changes. */
export class ServicesPlanState {
  readonly question: Signal<ServicesQuestion>
  readonly known: KnownBoards
  readonly plan: LatestAnswer<ServicesQuestion, ServicesAnswer>
  /** What takes no search, for the question that was answered last. */
  readonly plain: Signal<readonly PlainAnswer[]> = signal([])
  readonly #worker: WorkerThread

  constructor(question: Signal<ServicesQuestion>, known: KnownBoards, worker: WorkerThread) {
    this.question = question
    this.known = known
    this.#worker = worker
    this.plan = new LatestAnswer(question, (asked) => worker.call('planServices', asked))
  }

  /** Answer until the room is left. */
  enter(): () => void {
    const leavePlan = this.plan.follow()
    const leavePlain = effect(() => {
      const answered = this.plan.answered.value
      if (answered) void this.#comparePlain(answered.question)
    })
    return () => {
      leavePlan()
      leavePlain()
    }
  }

  async openParameters(file: File): Promise<string | undefined> {
    try {
      const { board } = await this.known.open(file)
      this.question.value = { ...this.question.value, board, memClockMhz: null }
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  async #comparePlain(question: ServicesQuestion): Promise<void> {
    // Where another question waits for its plan, that comes first.
    if (question !== this.question.peek()) return
    const plain = await this.#worker.call('plainServices', question).catch(() => [])
    if (question === this.question.peek()) this.plain.value = plain
  }
}
