import type { JSX } from 'preact'
import { LineChart, type LineChartProps } from '../parts/line-chart.js'
import { type Lane, padded } from './lane.js'

/** What becomes of the requests of runs that serve: a point each second. */
export function RequestCharts(props: {
  readonly lanes: readonly Lane[]
  readonly shared: Pick<LineChartProps, 'xLabel' | 'xRange' | 'markers'>
}): JSX.Element {
  const { shared } = props
  const lanes = props.lanes.filter(({ services }) => services.length > 0)
  const length = Math.max(...lanes.map(({ attainment }) => attainment.length))
  const times = Array.from({ length }, (_, i) => i)
  const attainment = lanes.map((lane) => padded(lane.attainment, length))
  const waiting = lanes.map((lane) => padded(lane.waiting, length))
  const curves = lanes.map(({ name, color, source }) => ({ label: source ?? name, color, width: 1.5 }))
  const readout = (series: readonly (readonly (number | null)[])[], unit: string, digits: number) => (i: number) =>
    `${i} s: ${lanes.map(({ name }, lane) => `${name} ${series[lane]?.[i]?.toFixed(digits) ?? '–'}`).join(', ')} ${unit}`
  const last = (series: readonly (readonly (number | null)[])[], unit: string) =>
    lanes.map(({ name }, lane) => `${name} ${series[lane]?.at(-1)?.toFixed(0) ?? 'none'} ${unit}`).join(', ')
  return (
    <div class="pair">
      <div>
        <h3>In time, the worst service of the last 5 s</h3>
        <LineChart
          {...shared}
          height={190}
          yLabel="%"
          yRange={[0, 101]}
          description={`Share of the requests answered in time; last: ${last(attainment, '%')}`}
          curves={[{ label: 'promised', color: '--cap', width: 1, dash: [6, 4] }, ...curves]}
          values={[times, times.map(() => 99), ...attainment]}
          readout={readout(attainment, '%', 1)}
        />
      </div>
      <div>
        <h3>Requests that wait, all services</h3>
        <LineChart
          {...shared}
          height={190}
          yLabel="requests"
          yRange={[0, null]}
          description={`Requests that wait; last: ${last(waiting, '')}`}
          curves={curves}
          values={[times, ...waiting]}
          readout={readout(waiting, '', 0)}
        />
      </div>
    </div>
  )
}
