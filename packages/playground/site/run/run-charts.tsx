import type { JSX } from 'preact'
import { LineChart, type LineChartProps } from '../parts/line-chart.js'
import { type Lane, padded, timesOf } from './lane.js'
import { RequestCharts } from './request-charts.js'

/** Power against the cap, and what was done for it, over the time of the run. */
export function RunCharts(props: {
  readonly lanes: readonly Lane[]
  readonly durationS: number
  /** When something was done, s. */
  readonly markers: readonly number[]
}): JSX.Element {
  const { lanes, durationS } = props
  const times = timesOf(lanes)
  // Lanes grow in place: all of it is looked at each time.
  const of = (column: (lane: Lane) => (number | null)[]) => lanes.map((lane) => padded(column(lane), times.length))
  const longest = lanes.reduce<Lane | undefined>((a, b) => (a && a.length >= b.length ? a : b), undefined)
  const columns = {
    cap: padded(longest?.powerCapW ?? [], times.length),
    power: of((lane) => lane.powerW),
    clock: of((lane) => lane.smClockMhz),
    rate: of((lane) => lane.throughput),
    temperature: of((lane) => lane.temperatureC),
  }
  const curves = lanes.map(({ name, color, source }) => ({ label: source ?? name, color, width: 1.5 }))
  const shared: Pick<LineChartProps, 'xLabel' | 'xRange' | 'markers'> = {
    xLabel: 's',
    xRange: [0, Math.max(durationS, times.at(-1) ?? 0)],
    markers: props.markers.map((x) => ({ x, color: '--soft' })),
  }
  const readout = (series: readonly (readonly (number | null)[])[], unit: string, digits: number) => (i: number) =>
    `${(times[i] ?? 0).toFixed(1)} s: ${lanes
      .map(({ name }, lane) => `${name} ${series[lane]?.[i]?.toFixed(digits) ?? '–'}`)
      .join(', ')} ${unit}`
  const now = times.length - 1
  const nowText = (series: readonly (readonly (number | null)[])[], unit: string) =>
    lanes.map(({ name }, lane) => `${name} ${series[lane]?.[now]?.toFixed(0) ?? 'none'} ${unit}`).join(', ')
  return (
    <>
      <h3>Power, as the board's sensor reads it, against the cap</h3>
      <LineChart
        {...shared}
        height={260}
        yLabel="W"
        description={`Power over time; last: ${nowText(columns.power, 'W')}, cap ${columns.cap[now] ?? 'none'} W`}
        curves={[{ label: 'cap', color: '--cap', width: 2, dash: [6, 4], stepped: true }, ...curves]}
        values={[times, columns.cap, ...columns.power]}
        readout={(i) => `${readout(columns.power, 'W', 1)(i)}; cap ${columns.cap[i] ?? '–'} W`}
      />
      {lanes.some(({ services }) => services.length > 0) && <RequestCharts lanes={lanes} shared={shared} />}
      <div class="pair">
        <div>
          <h3>Throughput, of each 5 s</h3>
          <LineChart
            {...shared}
            height={190}
            yLabel="samples/s"
            yRange={[0, null]}
            description={`Throughput over time; last: ${nowText(columns.rate, 'samples/s')}`}
            curves={curves.map((curve) => ({ ...curve, stepped: true }))}
            values={[times, ...columns.rate]}
            readout={readout(columns.rate, 'samples/s', 1)}
          />
        </div>
        <div>
          <h3>SM clock</h3>
          <LineChart
            {...shared}
            height={190}
            yLabel="MHz"
            description={`SM clock over time; last: ${nowText(columns.clock, 'MHz')}`}
            curves={curves.map((curve) => ({ ...curve, stepped: true }))}
            values={[times, ...columns.clock]}
            readout={readout(columns.clock, 'MHz', 0)}
          />
        </div>
        <div>
          <h3>Temperature</h3>
          <LineChart
            {...shared}
            height={190}
            yLabel="°C"
            description={`Temperature over time; last: ${nowText(columns.temperature, 'degrees')}`}
            curves={curves}
            values={[times, ...columns.temperature]}
            readout={readout(columns.temperature, '°C', 0)}
          />
        </div>
        <div>
          <h3>What was decided</h3>
          <Decisions lanes={lanes} />
        </div>
      </div>
    </>
  )
}

const LINES = 60

function Decisions({ lanes }: { readonly lanes: readonly Lane[] }): JSX.Element {
  const lines = lanes
    .flatMap(({ name, color, said }) => said.slice(-LINES).map((line) => ({ ...line, name, color })))
    .sort((a, b) => b.timeMs - a.timeMs)
    .slice(0, LINES)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be within reach of the keyboard
    <ol class="decisions" tabIndex={0} aria-label="What was decided, the newest first">
      {lines.map(({ timeMs, text, name, color }, i) => (
        <li key={`${timeMs} ${i}`}>
          <span class="aside">{(timeMs / 1000).toFixed(1)} s</span>
          <span>
            <span class="chip" style={{ background: `var(${color})` }} aria-hidden="true" /> {name}: {text}
          </span>
        </li>
      ))}
    </ol>
  )
}
