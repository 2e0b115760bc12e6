import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { colorAt } from '../parts/colors.js'
import { Copyable } from '../parts/copyable.js'
import { BoardDrawing } from '../plan/board-drawing.js'
import { Unanswered } from '../plan/unanswered.js'
import { ServicesTable } from '../services/services-table.js'
import { servicesYaml } from '../services/services-yaml.js'
import { ServiceTable } from './service-table.js'
import { ServicesComparison } from './services-comparison.js'
import { ServicesFigures } from './services-figures.js'
import { ServicesForm } from './services-form.js'
import type { ServicesPlanState } from './services-plan-state.js'
import type { ServicesQuestion } from './services-question.js'
import { SERVICES_FILE, servicesCommand, servicesProgram } from './written-services-plan.js'

/** Plans for services: requests that arrive, with latency objectives. */
export function ServicesPlanRoom(props: {
  readonly state: ServicesPlanState
  /** The same services in the Run room. */
  readonly onRun: () => void
}): JSX.Element {
  const { state, onRun } = props
  useEffect(() => state.enter(), [state])
  const question = state.question.value
  const board = state.known.find(question.board)
  const change = (part: Partial<ServicesQuestion>) => {
    state.question.value = { ...state.question.peek(), ...part }
  }
  return (
    <div class="room">
      <ServicesForm
        question={question}
        known={state.known}
        onChange={change}
        onParameters={(file) => state.openParameters(file)}
      />
      <div class="results">
        <section aria-labelledby="services-title">
          <h2 id="services-title">Requests that arrive, with a promise each</h2>
          <ServicesTable
            services={question.services}
            models={board?.networks ?? []}
            onChange={(services) => change({ services })}
          />
        </section>
        <Found state={state} onRun={onRun} />
        <section aria-labelledby="take-title">
          <h2 id="take-title">Take it along</h2>
          <Copyable title={SERVICES_FILE} text={servicesYaml(question.services)} />
          <Copyable title="As a command" text={servicesCommand(question)} />
          <Copyable title="As a program" text={servicesProgram(question)} />
        </section>
      </div>
    </div>
  )
}

function Found(props: { readonly state: ServicesPlanState; readonly onRun: () => void }): JSX.Element {
  const { state, onRun } = props
  const asked = state.question.value
  const board = state.known.find(asked.board)
  const answered = state.plan.answered.value
  const problem = state.plan.problem.value
  const current = answered?.question === asked
  const heading = (
    <h2 id="plan-title">
      {asked.services.length} {asked.services.length === 1 ? 'service' : 'services'} on {board?.name ?? asked.board}, at
      most {asked.powerCapW} W
    </h2>
  )
  if (problem !== '' || answered === null) return <Unanswered heading={heading} problem={problem} />
  const { question, answer } = answered
  if (!answer.feasible) {
    const capW = answer.lowestFeasibleCapW
    return (
      <section aria-labelledby="plan-title" data-planned={current}>
        {heading}
        <p class="refusal" role="alert">
          {answer.message}
        </p>
        <div class="buttons">
          {capW !== null && (
            <Change state={state} part={{ powerCapW: Math.ceil(capW) }}>
              Take {Math.ceil(capW)} W
            </Change>
          )}
          {answer.reason !== 'latency-objective' && answer.reason !== 'memory' && (
            <>
              <Change state={state} part={{ objective: 'max-load' }}>
                How much of this mix is possible?
              </Change>
              <Change state={state} part={{ objective: 'max-value' }}>
                What should be let in?
              </Change>
            </>
          )}
        </div>
      </section>
    )
  }
  const indexOf = (service: string | undefined) => question.services.findIndex(({ name }) => name === service)
  return (
    <section
      aria-labelledby="plan-title"
      data-planned={current}
      data-compared={current && state.plain.value.length > 0}
    >
      {heading}
      <ServicesFigures plan={answer} question={question} />
      {answer.boardLimitW !== undefined && (
        <p class="remark">The board takes at most {answer.boardLimitW} W, which is held in the place of the cap.</p>
      )}
      <BoardDrawing
        tenants={answer.configuration.tenants}
        sms={answer.sms}
        smCount={board?.smCount ?? 0}
        nameOf={({ service }) => service ?? ''}
        colorOf={({ service }) => colorAt(indexOf(service))}
      />
      <ServiceTable plan={answer} question={question} />
      <ServicesComparison plan={answer} plain={state.plain.value} question={question} />
      <p class="aside">
        {answer.evaluations} layouts looked at in {answer.elapsedMs.toFixed(0)} ms; others may do a little better. The
        power's interval is that of the predictor for these processes when they never wait, scaled to these rates.{' '}
        <button type="button" class="quiet" onClick={onRun}>
          Run these services under this cap
        </button>
      </p>
    </section>
  )
}

function Change(props: {
  readonly state: ServicesPlanState
  readonly part: Partial<ServicesQuestion>
  readonly children: JSX.Element | readonly (string | number)[] | string
}): JSX.Element {
  const { state, part, children } = props
  return (
    <button
      type="button"
      onClick={() => {
        state.question.value = { ...state.question.peek(), ...part }
      }}
    >
      {children}
    </button>
  )
}
