import { computed, effect, type Signal, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { colorAt } from '../parts/colors.js'
import { Copyable } from '../parts/copyable.js'
import { Scrolling } from '../parts/scrolling.js'
import type { KnownBoards } from '../work/known-boards.js'
import { LatestAnswer } from '../work/latest-answer.js'
import type { WorkerThread } from '../work/worker-thread.js'
import type { BoardDescription } from './board-description.js'
import { BoardDrawing } from './board-drawing.js'
import type { SweepPoint } from './cap-sweep.js'
import { Comparison } from './comparison.js'
import type { PlanAnswer } from './plan-answer.js'
import { PlanForm } from './plan-form.js'
import type { PlanQuestion } from './plan-question.js'
import { PlanFigures } from './plan-result.js'
import { SweepCharts, SweepTable } from './sweep-charts.js'
import { TenantTable } from './tenant-table.js'
import { Unanswered } from './unanswered.js'
import { planCommand, planProgram } from './written-plan.js'

/** What the Plan room knows; it asks its worker whenever its question changes. */
export class PlanRoomState {
  readonly question: Signal<PlanQuestion>
  readonly known: KnownBoards
  readonly plan: LatestAnswer<PlanQuestion, PlanAnswer>
  readonly sweep: Signal<readonly SweepPoint[]> = signal([])
  /** The caps are all there. */
  readonly swept: Signal<boolean> = signal(false)
  readonly #worker: WorkerThread
  /** All but the cap, which a sweep does not depend on. */
  readonly #subject = computed(() => JSON.stringify({ ...this.question.value, powerCapW: 0 }))
  /** What the last whole sweep was of. */
  #sweptSubject: string | undefined

  constructor(question: Signal<PlanQuestion>, known: KnownBoards, worker: WorkerThread) {
    this.question = question
    this.known = known
    this.#worker = worker
    this.plan = new LatestAnswer(question, (asked) => worker.call('plan', asked))
  }

  /** Answer until the room is left. */
  enter(): () => void {
    const leavePlan = this.plan.follow()
    const leaveSweep = effect(() => (this.#subject.value === this.#sweptSubject ? undefined : this.#sweepAll()))
    return () => {
      leavePlan()
      leaveSweep()
    }
  }

  async openParameters(file: File): Promise<string | undefined> {
    try {
      const { board, networks } = await this.known.open(file)
      const first = [{ model: networks[0]!, weight: 1 }]
      this.question.value = { ...this.question.value, board, networks: first, memClockMhz: null }
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  #sweepAll(): () => void {
    const controller = new AbortController()
    const { signal } = controller
    const subject = this.#subject.peek()
    this.swept.value = false
    const points: SweepPoint[] = []
    const show = () => {
      if (!signal.aborted) this.sweep.value = [...points]
    }
    const onProgress = (point: SweepPoint) => {
      points.push(point)
      // The old curve stays until the new one can take its place at a glance.
      if (points.length % 8 === 0) show()
    }
    // While somebody types, the curve waits.
    const timer = setTimeout(async () => {
      try {
        await this.#worker.call('sweep', this.question.peek(), { onProgress, signal })
        show()
        this.#sweptSubject = subject
        this.swept.value = true
      } catch {
        // Another sweep has taken its place, or the plan says what is wrong with the question.
        if (!signal.aborted) this.sweep.value = []
      }
    }, 120)
    return () => {
      clearTimeout(timer)
      controller.abort(new Error('another question'))
    }
  }
}

export function PlanRoom({ state, onRun }: { readonly state: PlanRoomState; readonly onRun: () => void }): JSX.Element {
  const question = state.question.value
  const boards = state.known.all.value
  const board = state.known.find(question.board)
  useEffect(() => state.enter(), [state])
  const colorOf = (model: string) => {
    return colorAt(question.networks.findIndex((network) => network.model === model))
  }
  const change = (part: Partial<PlanQuestion>) => {
    state.question.value = { ...state.question.peek(), ...part }
  }
  return (
    <div class="room">
      <PlanForm
        question={question}
        boards={boards}
        colorOf={colorOf}
        onChange={change}
        onParameters={(file) => state.openParameters(file)}
      />
      <div class="results">
        <Found state={state} board={board} colorOf={colorOf} onRun={onRun} />
        <section aria-labelledby="sweep-title" data-swept={state.swept.value}>
          <h2 id="sweep-title">Every cap</h2>
          <p class="lead">
            The best plan under each cap that the board can keep; the band is the predictor's 95 % interval. Click a cap
            to take it.
          </p>
          <SweepCharts
            points={state.sweep.value}
            powerCapW={question.powerCapW}
            range={rangeOf(state.sweep.value, board)}
            onPick={(powerCapW) => change({ powerCapW })}
          />
          <SweepTable points={state.sweep.value} />
        </section>
        <section aria-labelledby="take-title">
          <h2 id="take-title">Take it along</h2>
          <Copyable title="As a command" text={planCommand(question)} />
          <Copyable title="As a program" text={planProgram(question)} />
        </section>
      </div>
    </div>
  )
}

function rangeOf(points: readonly SweepPoint[], board: BoardDescription | undefined): readonly [number, number] {
  const most = board?.powerLimitW.max ?? 350
  const least = points[0]?.powerCapW ?? board?.powerLimitW.min ?? 100
  return [Math.floor(least / 10) * 10, Math.ceil(most / 10) * 10]
}

function Found(props: {
  readonly state: PlanRoomState
  readonly board: BoardDescription | undefined
  readonly colorOf: (model: string) => string
  readonly onRun: () => void
}): JSX.Element {
  const { state, board, colorOf } = props
  const answered = state.plan.answered.value
  const current = answered !== null && answered.question === state.question.value
  const problem = state.plan.problem.value
  const heading = (
    <h2 id="plan-title">
      {state.question.value.networks.map(({ model }) => model).join(', ')} on{' '}
      {board?.name ?? state.question.value.board}, at most {state.question.value.powerCapW} W
    </h2>
  )
  if (problem !== '' || answered === null) return <Unanswered heading={heading} problem={problem} />
  const { answer, question } = answered
  if (!answer.feasible) {
    return (
      <section aria-labelledby="plan-title" data-planned={current}>
        {heading}
        <p class="refusal" role="alert">
          {answer.message}
        </p>
        {answer.lowestFeasibleCapW !== null && (
          <button
            type="button"
            onClick={() => {
              state.question.value = { ...state.question.value, powerCapW: Math.ceil(answer.lowestFeasibleCapW!) }
            }}
          >
            Take {Math.ceil(answer.lowestFeasibleCapW)} W
          </button>
        )}
      </section>
    )
  }
  return (
    <section aria-labelledby="plan-title" data-planned={current}>
      {heading}
      <PlanFigures plan={answer} question={question} />
      {answer.boardLimitW !== null && (
        <p class="remark">The board takes at most {answer.boardLimitW} W, which is held in the place of the cap.</p>
      )}
      {answer.outside.map((text) => (
        <p class="remark" key={text}>
          {text}
        </p>
      ))}
      <BoardDrawing
        tenants={answer.configuration.tenants}
        sms={answer.sms}
        smCount={board?.smCount ?? 0}
        nameOf={({ model }) => model}
        colorOf={({ model }) => colorOf(model)}
      />
      <TenantTable plan={answer} colorOf={colorOf} />
      <Scrolling label="The plan beside other set-ups">
        <Comparison plan={answer} />
      </Scrolling>
      <p class="aside">
        {answer.evaluations} configurations looked at in {answer.elapsedMs.toFixed(0)} ms; others may do a little
        better.{' '}
        {question.networks.length === 1 && (
          <button type="button" class="quiet" onClick={props.onRun}>
            Run {question.networks[0]!.model} under this cap
          </button>
        )}
      </p>
    </section>
  )
}
