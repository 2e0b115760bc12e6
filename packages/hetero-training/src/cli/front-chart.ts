import type { chartConfig, palette, TopLevelSpec } from '@pctodl/charts'
import type { ParetoFront } from '../pareto-front.js'
import type { TrainingPlan } from '../training-plan.js'

interface ChartStyle {
  readonly chartConfig: typeof chartConfig
  readonly palette: typeof palette
}

interface Point {
  readonly timeS: number
  readonly energyJ: number
  readonly name: string
}

/** The time-energy front as a line, with the chosen plan, the knee, and what is compared as points. */
export function frontChart(
  front: ParetoFront,
  plan: TrainingPlan,
  compared: ReadonlyMap<string, TrainingPlan>,
  subtitle: string,
  { chartConfig, palette }: ChartStyle,
): TopLevelSpec {
  const point = (name: string, { timeS, energyJ }: TrainingPlan): Point => ({ name, timeS, energyJ })
  const names = ['this plan', 'knee of the front', ...compared.keys()]
  // What comes last lies on top.
  const points = [
    ...[...compared].map(([name, other]) => point(name, other)),
    point('knee of the front', front.knee),
    point('this plan', plan),
  ]
  const x = {
    field: 'timeS',
    type: 'quantitative',
    title: `time of one ${plan.unit}, s`,
    scale: { zero: false, nice: true },
  } as const
  const y = {
    field: 'energyJ',
    type: 'quantitative',
    title: `energy of one ${plan.unit}, J`,
    scale: { zero: false, nice: true },
  } as const
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: { text: 'Time and energy of the best plans', subtitle },
    config: chartConfig,
    width: 560,
    height: 360,
    layer: [
      {
        data: { values: front.plans.map((other) => point('front', other)) },
        mark: { type: 'line', interpolate: 'step-after', point: { size: 14, color: '#999999' }, color: '#999999' },
        encoding: { x, y },
      },
      {
        data: { values: points },
        mark: { type: 'point', filled: true, size: 110, opacity: 1 },
        encoding: {
          x,
          y,
          color: {
            field: 'name',
            type: 'nominal',
            title: null,
            legend: { labelLimit: 0 },
            sort: names,
            scale: { domain: names, range: names.map((_, i) => palette[i % palette.length]!) },
          },
          shape: { field: 'name', type: 'nominal', title: null, sort: names, scale: { domain: names } },
        },
      },
    ],
  }
}
