import { computed, effect, type Signal, signal } from '@preact/signals'
import type { WorkerThread } from '../work/worker-thread.js'
import type { SweepPoint } from './cap-sweep.js'
import type { PlanQuestion } from './plan-question.js'

/** Computes the best plan under each cap of a range. */
export class Sweep {
  readonly points: Signal<readonly SweepPoint[]> = signal([])
  /** Whether the sweep is complete. */
  readonly isWhole: Signal<boolean> = signal(false)
  readonly #question: Signal<PlanQuestion>
  readonly #worker: WorkerThread
  /** The question without its cap, because a sweep does not depend on the cap. */
  readonly #subject = computed(() => JSON.stringify({ ...this.#question.value, powerCapW: 0 }))
  #sweptSubject: string | undefined

  constructor(question: Signal<PlanQuestion>, worker: WorkerThread) {
    this.#question = question
    this.#worker = worker
  }

  /**
   * Repeats the sweep whenever the question changes, except for its cap.
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
      // The chart is updated after every eight points; until then the old curve stays.
      if (points.length % 8 === 0) show()
    }
    // The sweep starts after a delay, so that it does not restart for each key that a user types.
    const timer = setTimeout(async () => {
      try {
        await this.#worker.call('sweep', this.#question.peek(), { onProgress, signal })
        show()
        this.#sweptSubject = subject
        this.isWhole.value = true
      } catch {
        // If the sweep was aborted, a newer sweep replaces its curve. If it failed, the plan already shows the error.
        if (!signal.aborted) this.points.value = []
      }
    }, 120)
    return () => {
      clearTimeout(timer)
      controller.abort(new Error('another question'))
    }
  }
}
