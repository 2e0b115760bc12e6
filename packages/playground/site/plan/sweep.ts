import { computed, effect, type Signal, signal } from '@preact/signals'
import type { WorkerThread } from '../work/worker-thread.js'
import type { SweepPoint } from './cap-sweep.js'
import type { PlanQuestion } from './plan-question.js'

/** The best plan under each cap. */
export class Sweep {
  readonly points: Signal<readonly SweepPoint[]> = signal([])
  /** All caps are there. */
  readonly isWhole: Signal<boolean> = signal(false)
  readonly #question: Signal<PlanQuestion>
  readonly #worker: WorkerThread
  /** All but the cap, on which a sweep does not depend. */
  readonly #subject = computed(() => JSON.stringify({ ...this.#question.value, powerCapW: 0 }))
  #sweptSubject: string | undefined

  constructor(question: Signal<PlanQuestion>, worker: WorkerThread) {
    this.#question = question
    this.#worker = worker
  }

  /**
   * Sweep again whenever the subject changes.
   *
   * @returns a function that stops it
   */
  follow(): () => void {
    return effect(() => (this.#subject.value === this.#sweptSubject ? undefined : this.#sweepAll()))
  }

  #sweepAll(): () => void {
    const controller = new AbortController()
    const { signal } = controller
    const subject = this.#subject.peek()
    this.isWhole.value = false
    const points: SweepPoint[] = []
    const show = () => {
      if (!signal.aborted) this.points.value = [...points]
    }
    const onProgress = (point: SweepPoint) => {
      points.push(point)
      // The old curve stays until the new one can replace it at once.
      if (points.length % 8 === 0) show()
    }
    // The curve waits while somebody types.
    const timer = setTimeout(async () => {
      try {
        await this.#worker.call('sweep', this.#question.peek(), { onProgress, signal })
        show()
        this.#sweptSubject = subject
        this.isWhole.value = true
      } catch {
        // Another sweep has replaced this one, or the plan already shows the error in the question.
        if (!signal.aborted) this.points.value = []
      }
    }, 120)
    return () => {
      clearTimeout(timer)
      controller.abort(new Error('another question'))
    }
  }
}
