import type { PlanBinds } from '@pctodl/greedy-partition/services'
import type { JSX } from 'preact'
import { FigureOf } from '../parts/figure-of.js'
import type { FoundServicesPlan } from './services-answer.js'
import type { ServicesQuestion } from './services-question.js'

/** The figures of a plan for services. */
export function ServicesFigures(props: {
  readonly plan: FoundServicesPlan
  readonly question: ServicesQuestion
}): JSX.Element {
  const { plan, question } = props
  const { configuration, prediction, powerIntervalW, marginW, energyPerRequestJ, binds, bound, loadFactor } = plan
  const worst = prediction.services.reduce((low, each) => (each.attainment < low.attainment ? each : low))
  return (
    <dl class="figures">
      {question.objective === 'max-load' ? (
        <FigureOf name="Load" id="load" value={loadFactor.toFixed(2)} unit="of the rates">
          {limitText(binds)}
          {bound && `; by the model no plan is more than ${(100 * bound.gap).toFixed(0)} % better`}
        </FigureOf>
      ) : (
        <FigureOf name="In time, at worst" id="attainment" value={(100 * worst.attainment).toFixed(1)} unit="%">
          {limitText(binds)}
          {bound && `; by the model no plan is more than ${(100 * bound.gap).toFixed(0)} % better`}
        </FigureOf>
      )}
      <FigureOf name="Power" id="power" value={prediction.powerW.toFixed(1)} unit="W">
        95 % between {powerIntervalW.map((value) => value.toFixed(1)).join(' and ')} W; {marginW.toFixed(1)} W below the
        cap
      </FigureOf>
      <FigureOf
        name="Energy"
        id="energy"
        value={energyPerRequestJ === null ? '–' : (1000 * energyPerRequestJ).toFixed(1)}
        unit="mJ a request"
      >
        of the whole board, for each request that is answered
      </FigureOf>
      <FigureOf
        name="Clocks"
        id="clocks"
        value={`${configuration.smClockMhz} / ${configuration.memClockMhz}`}
        unit="MHz"
      >
        SM and memory
      </FigureOf>
    </dl>
  )
}

/** What keeps the plan from being better. */
function limitText(binds: PlanBinds): string {
  switch (binds.what) {
    case 'objective':
      return `the objective of ${binds.service} binds`
    case 'power-cap':
      return 'the power cap binds'
    case 'lowest-clock':
      return 'the board runs at its lowest clock'
    case 'nothing':
      return 'all requests are let in'
  }
}
