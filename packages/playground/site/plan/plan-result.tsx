import type { JSX } from 'preact'
import { FigureOf } from '../parts/figure-of.js'
import type { FoundPlan } from './plan-answer.js'
import type { PlanQuestion } from './plan-question.js'

/** The figures of a plan. */
export function PlanFigures(props: { readonly plan: FoundPlan; readonly question: PlanQuestion }): JSX.Element {
  const { configuration, prediction, throughputInterval, powerIntervalW, marginW, capExceedanceProbability } =
    props.plan
  return (
    <dl class="figures">
      <FigureOf name="Throughput" id="throughput" value={prediction.throughput.toFixed(1)} unit="samples/s">
        95 % between {throughputInterval.map((value) => value.toFixed(0)).join(' and ')}
      </FigureOf>
      <FigureOf name="Power" id="power" value={prediction.powerW.toFixed(1)} unit="W">
        95 % between {powerIntervalW.map((value) => value.toFixed(1)).join(' and ')} W
      </FigureOf>
      <FigureOf
        name="Energy"
        id="energy"
        value={(prediction.powerW / prediction.throughput).toFixed(4)}
        unit="J a sample"
      >
        {marginW.toFixed(1)} W below the cap
        {capExceedanceProbability !== null && `; above it with probability ${capExceedanceProbability.toPrecision(2)}`}
      </FigureOf>
      <FigureOf
        name="Clocks"
        id="clocks"
        value={`${configuration.smClockMhz} / ${configuration.memClockMhz}`}
        unit="MHz"
      >
        SM and memory; busy {prediction.smUtilPercent.toFixed(0)} % and {prediction.memUtilPercent.toFixed(0)} %
      </FigureOf>
    </dl>
  )
}
