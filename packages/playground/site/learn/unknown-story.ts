import { simulateSteadyState } from '@pctodl/gpu-sim'
import { SeededRandom } from '@pctodl/numerics'
import { smClocksAt } from '@pctodl/platform'
import type { Teller } from './story.js'

const CONFIGURATIONS = 80

/** Compares predictions and their intervals with the simulated board. */
export const tellOfTheUnknown: Teller = (predictor, model) => {
  const truth = simulateSteadyState(predictor.spec.key, { powerLimitW: 1e9 })
  const random = new SeededRandom(7)
  const draw = <T>(values: readonly T[]): T => values[random.integer(values.length)]!
  const found = Array.from({ length: CONFIGURATIONS }, () => {
    const memClockMhz = draw(predictor.memClocksMhz)
    const smClockMhz = draw(smClocksAt(predictor.spec, memClockMhz)!)
    const tenants = draw([[100], [50, 50], [25, 25, 50], [20, 20, 30, 30]]).map((mpsPercent) => ({
      model: draw([model, ...predictor.networks]),
      mpsPercent,
      batchSize: draw([4, 16, 32, 64]),
    }))
    const configuration = { tenants, smClockMhz, memClockMhz }
    const said = predictor.predict(configuration)
    const [low, high] = predictor.quantiles(configuration, [0.025, 0.975]).throughput
    const is = truth(configuration).throughput
    const percent = (value: number) => 100 * (value / said.throughput - 1)
    return { error: percent(is), low: percent(low!), high: percent(high!), inside: is >= low! && is <= high! }
  }).sort((a, b) => a.high - a.low - (b.high - b.low))
  const errors = found.map(({ error }) => Math.abs(error)).sort((a, b) => a - b)
  const inside = found.filter((one) => one.inside).length
  return {
    question: 'How large are prediction errors?',
    why: "Each dot is a configuration on the simulated board; the lines are the predictor's interval. Fit your own traces to see this for a real board.",
    finding: `Of ${CONFIGURATIONS} random configurations (${model} is one of their networks), ${inside} lie within the predictor's 95 % interval. The median error is ${errors[CONFIGURATIONS / 2]!.toFixed(1)} %, the largest ${errors.at(-1)!.toFixed(0)} %.`,
    plot: {
      description: 'Error of predicted throughput, ordered by the width of the predicted interval',
      xLabel: 'configurations, by interval width',
      yLabel: 'error, % of the prediction',
      curves: [
        { label: 'simulated', color: '--network-6', points: true, width: 0 },
        { label: '95 % interval', color: '--network-1' },
        { label: '', color: '--network-1' },
      ],
      values: [
        found.map((_, i) => i + 1),
        found.map(({ error }) => error),
        found.map(({ high }) => high),
        found.map(({ low }) => low),
      ],
    },
  }
}
