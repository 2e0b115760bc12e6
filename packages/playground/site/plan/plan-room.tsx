import { sameProcess } from '@pctodl/platform'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Bars } from '../parts/bars.js'
import { Copyable } from '../parts/copyable.js'
import { Figure } from '../parts/figure.js'
import { LineChart } from '../parts/line-chart.js'
import { Room, TakeAlong } from '../parts/room.js'
import { Chip, colorAt, Table } from '../parts/table.js'
import type { SweepPoint } from './cap-sweep.js'
import type { FoundPlan, PlanAnswer } from './plan-answer.js'
import { PlanForm } from './plan-form.js'
import { BoardDrawing, NoPlan, PlanCap, Remark } from './plan-parts.js'
import { type PlanQuestion, RISK } from './plan-question.js'
import type { PlanState } from './plan-state.js'
import type { Sweep } from './sweep.js'
import { planCommand, planProgram } from './written-plan.js'

type State = PlanState<PlanQuestion, PlanAnswer, Sweep>

/** The room that plans for processes that never wait. It also shows the best plan under every cap. */
export function PlanRoom({ state, onRun }: { readonly state: State; readonly onRun: () => void }): JSX.Element {
  useEffect(() => state.enter(), [state])
  const question = state.question.value
  const board = state.known.find(question.board)
  const answered = state.plan.answered.value
  const problem = state.plan.problem.value
  const points = state.more.points.value
  const names = question.networks.map(({ model }) => model).join(', ')
  const swept: Swept = {
    points,
    powerCapW: question.powerCapW,
    highestW: board?.powerLimitW.max ?? 350,
    onPick: (powerCapW) => state.change({ powerCapW }),
  }
  return (
    <Room
      title={`What is the highest throughput of ${names} on ${board?.name ?? question.board} within ${question.powerCapW} W?`}
      slider={<PlanCap state={state} />}
      picture={<SweepChart {...swept} />}
      form={<PlanForm state={state} />}
      marks={{
        'data-planned': problem !== '' || answered?.question === question,
        'data-swept': state.more.isWhole.value,
      }}
    >
      {problem !== '' || answered === null ? (
        <NoPlan state={state} message={problem} />
      ) : answered.answer.feasible ? (
        <Found state={state} plan={answered.answer} question={answered.question} onRun={onRun} />
      ) : (
        <NoPlan state={state} message={answered.answer.message} lowestCapW={answered.answer.lowestFeasibleCapW} />
      )}
      <section aria-labelledby="sweep-title">
        <h2 id="sweep-title">All caps</h2>
        <SweepChart {...swept} isEnergy />
        <SweepTable points={points} />
      </section>
      <TakeAlong>
        <Copyable title="As a command" text={planCommand(question)} />
        <Copyable title="As a program" text={planProgram(question)} />
      </TakeAlong>
    </Room>
  )
}

const rate = (value: number) => `${value.toFixed(1)} samples/s`
const clocksText = (clocks: { readonly smClockMhz: number; readonly memClockMhz: number }) =>
  `${clocks.smClockMhz} / ${clocks.memClockMhz}`
const bounds = (interval: readonly number[], digits: number) =>
  interval.map((value) => value.toFixed(digits)).join(' to ')

interface Swept {
  readonly points: readonly SweepPoint[]
  readonly powerCapW: number
  readonly highestW: number
  readonly onPick: (powerCapW: number) => void
}

const energyOf = ({ powerW, throughput }: SweepPoint) => powerW / throughput

/** Plots the throughput, or the energy per sample, of the best plan under every cap. */
function SweepChart({
  points,
  powerCapW,
  highestW,
  onPick,
  isEnergy = false,
}: Swept & { isEnergy?: boolean }): JSX.Element {
  const [first, last] = [points[0], points.at(-1)]
  const name = isEnergy ? 'Energy per sample' : 'Throughput'
  const text = (point: SweepPoint) => (isEnergy ? `${energyOf(point).toFixed(4)} J` : rate(point.throughput))
  const ends = first && last ? `: ${text(first)} at ${first.powerCapW} W, ${text(last)} at ${last.powerCapW} W` : ''
  const lowest = Math.min(...points.map(energyOf))
  return (
    <LineChart
      description={`${name} over the power cap${ends}`}
      height={isEnergy ? 190 : 250}
      xLabel="power cap, W"
      yLabel={isEnergy ? 'J/sample' : 'samples/s'}
      xRange={[Math.floor((first?.powerCapW ?? 100) / 10) * 10, Math.ceil(highestW / 10) * 10]}
      // Near the lowest feasible cap, energy per sample is many times the minimum and would flatten the curve.
      yRange={[0, isEnergy && Number.isFinite(lowest) ? 2.5 * lowest : null]}
      markers={[{ x: powerCapW, color: '--cap' }]}
      fromMarker
      onPick={(x) => onPick(Math.round(x))}
      curves={[
        { label: name, color: isEnergy ? '--energy' : '--plan' },
        { label: 'high', color: '--plan', hidden: true },
        { label: 'low', color: '--plan', hidden: true },
      ]}
      bands={[{ between: [1, 2], color: '--plan-band' }]}
      values={[
        points.map((point) => point.powerCapW),
        points.map((point) => (isEnergy ? energyOf(point) : point.throughput)),
        points.map((point) => (isEnergy ? null : point.throughputInterval[1])),
        points.map((point) => (isEnergy ? null : point.throughputInterval[0])),
      ]}
      readout={(i) => {
        const point = points[i]!
        const more = isEnergy ? `SM at ${point.smClockMhz} MHz` : `95 % interval ${bounds(point.throughputInterval, 0)}`
        return `${point.powerCapW} W: ${text(point)}, ${more}`
      }}
    />
  )
}

function SweepTable({ points }: { readonly points: readonly SweepPoint[] }): JSX.Element {
  return (
    <details class="as-table">
      <summary>Table: the best plan under each cap</summary>
      <Table
        label="The plan for each cap"
        tall
        heads={['cap, W', 'samples/s', '95 % interval', 'power, W', 'J/sample', 'SM / memory, MHz', 'processes']}
      >
        {points.map((point) => (
          <tr key={point.powerCapW}>
            <td>{point.powerCapW}</td>
            <td>{point.throughput.toFixed(1)}</td>
            <td>{bounds(point.throughputInterval, 0)}</td>
            <td>{point.powerW.toFixed(1)}</td>
            <td>{(point.powerW / point.throughput).toFixed(4)}</td>
            <td>{clocksText(point)}</td>
            <td>{point.tenants}</td>
          </tr>
        ))}
      </Table>
    </details>
  )
}

function Found(props: {
  readonly state: State
  readonly plan: FoundPlan
  readonly question: PlanQuestion
  readonly onRun: () => void
}): JSX.Element {
  const { state, plan, question } = props
  const { configuration, prediction, capExceedanceProbability: risk } = plan
  const colorOf = (model: string) => colorAt(question.networks.findIndex((network) => network.model === model))
  const [network] = question.networks
  const own = { name: 'this plan', throughput: prediction.throughput, powerW: prediction.powerW, configuration }
  return (
    <>
      {risk !== null && risk > RISK && (
        <p class="refusal">
          This plan exceeds the cap with probability {risk.toPrecision(2)}; only its mean power is within the cap.{' '}
          <button type="button" class="quiet" onClick={() => state.change({ risk: RISK })}>
            Plan for a risk of {100 * RISK} %
          </button>
        </p>
      )}
      <dl class="figures">
        <Figure name="Throughput" id="throughput" value={prediction.throughput.toFixed(1)} unit="samples/s">
          95 % interval {bounds(plan.throughputInterval, 0)}
        </Figure>
        <Figure name="Power" id="power" value={prediction.powerW.toFixed(1)} unit="W">
          95 % interval {bounds(plan.powerIntervalW, 1)} W; {plan.marginW.toFixed(1)} W below the cap
          {risk !== null && `; exceeds the cap with probability ${risk.toPrecision(2)}`}
        </Figure>
        <Figure
          name="Energy"
          id="energy"
          value={(prediction.powerW / prediction.throughput).toFixed(4)}
          unit="J/sample"
        />
        <Figure name="Clocks" id="clocks" value={clocksText(configuration)} unit="MHz">
          SM and memory; busy {prediction.smUtilPercent.toFixed(0)} % and {prediction.memUtilPercent.toFixed(0)} %
        </Figure>
      </dl>
      {plan.boardLimitW !== null && (
        <Remark>
          The board's highest power limit is {plan.boardLimitW} W; the plan keeps this limit instead of the cap.
        </Remark>
      )}
      {plan.outside.map((text) => (
        <Remark key={text}>{text}</Remark>
      ))}
      <BoardDrawing
        tenants={configuration.tenants}
        sms={plan.sms}
        smCount={state.known.find(question.board)?.smCount ?? 0}
        nameOf={({ model }) => model}
        colorOf={({ model }) => colorOf(model)}
      />
      <TenantTable plan={plan} colorOf={colorOf} />
      <Bars
        label="The plan and simple configurations"
        heads={['samples/s', 'power', 'clocks']}
        bars={[own, ...plan.alternatives].map(({ name, throughput, powerW, configuration: clocks }) => ({
          name,
          value: throughput,
          text: throughput === null ? 'above the cap' : throughput.toFixed(1),
          more: [`${powerW.toFixed(1)} W`, `${clocksText(clocks)} MHz`],
        }))}
      />
      <p class="aside">
        {plan.evaluations} configurations evaluated in {plan.elapsedMs.toFixed(0)} ms. A longer search may find a
        slightly better one.{' '}
        {question.networks.length === 1 && (
          <button type="button" class="quiet" onClick={props.onRun}>
            Run {network!.model} under this cap
          </button>
        )}
      </p>
    </>
  )
}

/** Lists the processes of a plan; equal consecutive processes share a row. */
function TenantTable(props: { readonly plan: FoundPlan; readonly colorOf: (model: string) => string }): JSX.Element {
  const { configuration, prediction } = props.plan
  const { tenants } = configuration
  const isLike = (a: number, b: number) =>
    tenants[a]?.batchSize === tenants[b]!.batchSize && sameProcess(tenants[a]!, tenants[b]!)
  const groups: { count: number; readonly index: number }[] = []
  for (const index of tenants.keys()) {
    if (isLike(index - 1, index)) groups.at(-1)!.count++
    else groups.push({ count: 1, index })
  }
  return (
    <Table
      label="The processes of the plan"
      class="tenants"
      heads={['network', 'processes', 'share', 'batch', 'throughput of each', 'batch latency']}
    >
      {groups.map(({ count, index }) => {
        const { model, mpsPercent, batchSize } = tenants[index]!
        const { throughput, latencyMs, p99LatencyMs } = prediction.tenants[index]!
        return (
          <tr key={index}>
            <td class="text">
              <Chip color={props.colorOf(model)} />
              {model}
            </td>
            <td>{count} ×</td>
            <td>{mpsPercent} %</td>
            <td>{batchSize}</td>
            <td>{rate(throughput)}</td>
            <td>
              {latencyMs.toFixed(1)} ms
              {p99LatencyMs === undefined ? '' : <span class="aside"> p99 {p99LatencyMs.toFixed(1)} ms</span>}
            </td>
          </tr>
        )
      })}
    </Table>
  )
}
