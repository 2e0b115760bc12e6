import type { PlainManner, PlanBinds, ServiceGoal } from '@pctodl/greedy-partition/services'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Bars } from '../parts/bars.js'
import { Copyable } from '../parts/copyable.js'
import { Figure } from '../parts/figure.js'
import { Room, TakeAlong } from '../parts/room.js'
import { colorAt, RowHead, Table } from '../parts/table.js'
import { BoardDrawing, NoPlan, PlanCap, Remark } from '../plan/plan-parts.js'
import type { PlanState } from '../plan/plan-state.js'
import { SERVICES_FILE, servicesCommand, servicesProgram } from '../plan/written-plan.js'
import { ServicesTable } from '../services/services-table.js'
import { servicesYaml } from '../services/services-yaml.js'
import type { LatestAnswer } from '../work/latest-answer.js'
import type { FoundServicesPlan, PlainAnswer, ServicesAnswer } from './services-answer.js'
import { ServicesForm } from './services-form.js'
import type { ServicesQuestion } from './services-question.js'

type State = PlanState<ServicesQuestion, ServicesAnswer, LatestAnswer<ServicesQuestion, readonly PlainAnswer[]>>

const questions: Readonly<Record<ServiceGoal, string>> = {
  'min-power': 'How much power is needed to serve',
  'max-load': 'What is the highest load of',
  'max-value': 'Which requests should be admitted of',
}

/** The room that plans for services: requests arrive, and each service has a latency objective. */
export function ServicesPlanRoom(props: {
  readonly state: State
  /** Opens the Run room with the same services. */
  readonly onRun: () => void
}): JSX.Element {
  const { state, onRun } = props
  useEffect(() => state.enter(), [state])
  const question = state.question.value
  const board = state.known.find(question.board)
  const { services, objective, powerCapW } = question
  const answered = state.plan.answered.value
  const problem = state.plan.problem.value
  const plain = state.more.answered.value?.answer ?? []
  const isCurrent = problem !== '' || answered?.question === question
  const answer = problem === '' ? answered?.answer : undefined
  return (
    <Room
      title={`${questions[objective]} ${services.map(({ name }) => name).join(', ')} on ${board?.name ?? question.board} within ${powerCapW} W?`}
      slider={<PlanCap state={state} />}
      picture={
        answer?.feasible ? (
          <Comparison plan={answer} plain={plain} objective={answered!.question.objective} />
        ) : (
          <NoPlan state={state} message={answer?.message ?? problem} lowestCapW={answer?.lowestFeasibleCapW}>
            {answer && answer.reason !== 'latency-objective' && answer.reason !== 'memory' && (
              <>
                <button type="button" onClick={() => state.change({ objective: 'max-load' })}>
                  Find the highest load of this mix
                </button>
                <button type="button" onClick={() => state.change({ objective: 'max-value' })}>
                  Choose the requests to admit
                </button>
              </>
            )}
          </NoPlan>
        )
      }
      form={<ServicesForm state={state} />}
      marks={{ 'data-planned': isCurrent, 'data-compared': isCurrent && plain.length > 0 }}
    >
      <section aria-labelledby="services-title">
        <h2 id="services-title">The services and their objectives</h2>
        <ServicesTable
          services={services}
          models={board?.networks ?? []}
          onChange={(changed) => state.change({ services: changed })}
        />
      </section>
      {answer?.feasible && (
        <Found plan={answer} question={answered!.question} smCount={board?.smCount ?? 0} onRun={onRun} />
      )}
      <TakeAlong>
        <Copyable title={SERVICES_FILE} text={servicesYaml(services)} />
        <Copyable title="As a command" text={servicesCommand(question)} />
        <Copyable title="As a program" text={servicesProgram(question)} />
      </TakeAlong>
    </Room>
  )
}

const manners: Readonly<Record<PlainManner, string>> = {
  'equal-shares': 'equal shares, best batch of each',
  'one-batch': 'equal shares, same batch for all',
  'shares-by-load': 'shares by load, best batch of each',
}

const scores: Readonly<Record<ServiceGoal, string>> = {
  'min-power': 'W, with margins',
  'max-load': 'times the rates',
  'max-value': 'weighted requests/s',
}

/**
 * Compares the plan with configurations that need no search: one process per service, at the best clocks for these
 * processes.
 */
function Comparison(props: {
  readonly plan: FoundServicesPlan
  readonly plain: readonly PlainAnswer[]
  readonly objective: ServiceGoal
}): JSX.Element {
  const { plan, plain, objective } = props
  const rows = [
    { name: 'this plan', id: 'plan', found: plan },
    ...plain.map(({ manner, found }) => ({ name: manners[manner], id: manner, found })),
  ]
  return (
    <Bars
      label="The plan and configurations without a search"
      heads={[scores[objective], 'power', 'energy/request', 'clocks']}
      bars={rows.map(({ name, id, found }) => ({
        name,
        id,
        value: found?.score ?? null,
        text: found ? found.score.toFixed(objective === 'max-load' ? 2 : 1) : 'no plan',
        more: found
          ? [`${found.prediction.powerW.toFixed(1)} W`, `${milli(found.energyPerRequestJ)} mJ`, clocksText(found)]
          : ['–', '–', '–'],
      }))}
    />
  )
}

const milli = (energyJ: number | null) => (energyJ === null ? '–' : (1000 * energyJ).toFixed(1))

const clocksText = ({ configuration }: Pick<FoundServicesPlan, 'configuration'>) =>
  `${configuration.smClockMhz} / ${configuration.memClockMhz}`

function Found(props: {
  readonly plan: FoundServicesPlan
  readonly question: ServicesQuestion
  readonly smCount: number
  readonly onRun: () => void
}): JSX.Element {
  const { plan, question, smCount, onRun } = props
  const { configuration, prediction, binds, bound } = plan
  const worst = Math.min(...prediction.services.map(({ attainment }) => attainment))
  const [name, id, value, unit] =
    question.objective === 'max-load'
      ? ['Load', 'load', plan.loadFactor.toFixed(2), 'times the rates']
      : ['Worst attainment', 'attainment', (100 * worst).toFixed(1), '%']
  const indexOf = (service: string | undefined) => question.services.findIndex((each) => each.name === service)
  return (
    <section aria-label="The plan">
      <dl class="figures">
        <Figure name={name} id={id} value={value} unit={unit}>
          {limitText(binds)}
          {bound && `; by the model, no plan is more than ${(100 * bound.gap).toFixed(0)} % better`}
        </Figure>
        <Figure name="Power" id="power" value={prediction.powerW.toFixed(1)} unit="W">
          95 % interval {plan.powerIntervalW.map((watts) => watts.toFixed(1)).join(' to ')} W; {plan.marginW.toFixed(1)}{' '}
          W below the cap
        </Figure>
        <Figure name="Energy" id="energy" value={milli(plan.energyPerRequestJ)} unit="mJ/request">
          energy of the whole board per answered request
        </Figure>
        <Figure name="Clocks" id="clocks" value={clocksText(plan)} unit="MHz">
          SM and memory
        </Figure>
      </dl>
      {plan.boardLimitW !== undefined && (
        <Remark>
          The board's highest power limit is {plan.boardLimitW} W; the plan keeps this limit instead of the cap.
        </Remark>
      )}
      <BoardDrawing
        tenants={configuration.tenants}
        sms={plan.sms}
        smCount={smCount}
        nameOf={({ service }) => service ?? ''}
        colorOf={({ service }) => colorAt(indexOf(service))}
      />
      <ServiceTable plan={plan} question={question} />
      <p class="aside">
        {plan.evaluations} layouts evaluated in {plan.elapsedMs.toFixed(0)} ms. A longer search may find a slightly
        better one. The interval of the power is predicted for the same processes without idle time, and scaled to these
        rates.{' '}
        <button type="button" class="quiet" onClick={onRun}>
          Run these services under this cap
        </button>
      </p>
    </section>
  )
}

/** Names the constraint that limits the plan. */
function limitText(binds: PlanBinds): string {
  switch (binds.what) {
    case 'objective':
      return `limited by the objective of ${binds.service}`
    case 'power-cap':
      return 'limited by the power cap'
    case 'lowest-clock':
      return 'the board runs at its lowest clock'
    case 'nothing':
      return 'all requests are admitted'
  }
}

const columns = ['processes', 'share', 'batch', 'delay, ms', 'requests/s', 'p50', 'p90', 'p99, ms', 'of']

/**
 * Lists each service's resources in the plan and the predicted latency of its requests: the figures of `pctodl
 * partition --services`.
 */
function ServiceTable(props: { readonly plan: FoundServicesPlan; readonly question: ServicesQuestion }): JSX.Element {
  const { configuration, prediction, admittedPerS, maxQueueDelayMs } = props.plan
  return (
    <Table
      label="What the plan gives each service"
      class="tenants"
      heads={['service', ...columns, 'attainment', 'busy']}
    >
      {props.question.services.map(({ name, model, ratePerS, p99Ms }, i) => {
        const own = configuration.tenants.filter(({ service }) => service === name)
        const of = prediction.services[i]!
        const admitted = admittedPerS[i]!
        const isWhole = admitted >= ratePerS * (1 - 1e-9)
        const ms = (value: number) => (admitted === 0 ? '-' : Number.isFinite(value) ? value.toFixed(1) : 'never')
        return (
          <tr key={name} data-service={name}>
            <RowHead color={colorAt(i)}>
              {name}
              <div class="aside">{model}</div>
            </RowHead>
            <td data-figure="processes">{own.length}</td>
            <td>
              <span data-figure="share">{own[0]!.mpsPercent}</span> %
            </td>
            <td data-figure="batch">{own[0]!.batchSize}</td>
            <td>{maxQueueDelayMs[i]}</td>
            <td data-figure="rate">{`${isWhole ? '' : `${admitted.toFixed(0)} of `}${ratePerS.toFixed(0)}`}</td>
            <td>{ms(of.p50Ms)}</td>
            <td>{ms(of.p90Ms)}</td>
            <td data-figure="p99">{ms(of.p99Ms)}</td>
            <td data-figure="objective">{p99Ms}</td>
            <td>
              <span data-figure="attainment">{admitted === 0 ? '-' : (100 * of.attainment).toFixed(1)}</span> %
            </td>
            <td>{(100 * of.utilisation).toFixed(0)} %</td>
          </tr>
        )
      })}
    </Table>
  )
}
