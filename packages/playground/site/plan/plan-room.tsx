import { computed, effect, type Signal, signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Copyable } from '../parts/copyable.js'
import { Scrolling } from '../parts/scrolling.js'
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
import { planCommand, planProgram } from './written-plan.js'

/** An answer, and what it is the answer to. */
interface Answered {
  readonly question: PlanQuestion
  readonly answer: PlanAnswer
}

/** What the Plan room knows; it asks its worker whenever its question changes. */
export class PlanRoomState {
  readonly question: Signal<PlanQuestion>
  readonly boards: Signal<readonly BoardDescription[]> = signal([])
  readonly answered: Signal<Answered | null> = signal(null)
  readonly problem: Signal<string> = signal('')
  readonly sweep: Signal<readonly SweepPoint[]> = signal([])
  /** The caps are all there. */
  readonly swept: Signal<boolean> = signal(false)
  readonly #worker: WorkerThread
  /** All but the cap, which a sweep does not depend on. */
  readonly #swept = computed(() => JSON.stringify({ ...this.question.value, powerCapW: 0 }))
  readonly #opened = new Map<string, string>()
  #planning = false

  constructor(question: Signal<PlanQuestion>, worker: WorkerThread) {
    this.question = question
    this.#worker = worker
  }

  /** Begin to answer. */
  async start(): Promise<void> {
    this.boards.value = await this.#worker.call('boards', null)
    effect(() => {
      void this.question.value
      void this.#plan()
    })
    effect(() => {
      void this.#swept.value
      return this.#sweepAll()
    })
  }

  /** The file of a board that was opened; undefined for those that are known anyway. */
  parametersOf(board: string): string | undefined {
    return this.#opened.get(board)
  }

  async openParameters(file: File): Promise<string | undefined> {
    try {
      const json = await file.text()
      const opened = await this.#worker.call('openParameters', { name: file.name, json })
      this.#opened.set(opened.board, json)
      this.boards.value = [...this.boards.value.filter(({ board }) => board !== opened.board), opened]
      const networks = [{ model: opened.networks[0]!, weight: 1 }]
      this.question.value = { ...this.question.value, board: opened.board, networks, memClockMhz: null }
      return undefined
    } catch (error) {
      return `${file.name} cannot be used: ${(error as Error).message}`
    }
  }

  /** One plan at a time; when it is there, the newest question, if that is another by then. */
  async #plan(): Promise<void> {
    if (this.#planning) return
    this.#planning = true
    try {
      for (let question: PlanQuestion | undefined; question !== this.question.peek(); ) {
        question = this.question.peek()
        try {
          const answer = await this.#worker.call('plan', question)
          this.answered.value = { question, answer }
          this.problem.value = ''
        } catch (error) {
          this.problem.value = (error as Error).message
        }
      }
    } finally {
      this.#planning = false
    }
  }

  #sweepAll(): () => void {
    const controller = new AbortController()
    const { signal } = controller
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

const colors = ['--network-1', '--network-2', '--network-3', '--network-4', '--network-5', '--network-6', '--network-7']

export function PlanRoom({ state, onRun }: { readonly state: PlanRoomState; readonly onRun: () => void }): JSX.Element {
  const question = state.question.value
  const boards = state.boards.value
  const board = boards.find((candidate) => candidate.board === question.board)
  const colorOf = (model: string) => {
    const index = question.networks.findIndex((network) => network.model === model)
    return `var(${colors[Math.max(0, index) % colors.length]})`
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
  const answered = state.answered.value
  const current = answered !== null && answered.question === state.question.value
  const problem = state.problem.value
  const heading = (
    <h2 id="plan-title">
      {state.question.value.networks.map(({ model }) => model).join(', ')} on{' '}
      {board?.name ?? state.question.value.board}, at most {state.question.value.powerCapW} W
    </h2>
  )
  if (problem !== '') {
    return (
      <section aria-labelledby="plan-title" data-planned="true">
        {heading}
        <p class="refusal" role="alert">
          {problem}
        </p>
      </section>
    )
  }
  if (answered === null) {
    return (
      <section aria-labelledby="plan-title" class="waiting">
        {heading}
        <p class="lead">Looking for a plan …</p>
      </section>
    )
  }
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
      <BoardDrawing plan={answer} smCount={board?.smCount ?? 0} colorOf={colorOf} />
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
