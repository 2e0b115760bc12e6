import type { JSX } from 'preact'
import { LineChart } from '../parts/line-chart.js'
import { Chip, Key } from '../parts/table.js'
import { type Column, type Lane, padded, timesOf } from './lane.js'

/** One quantity of all lanes as a function of time. */
interface Quantity {
  readonly title: string
  readonly unit: string
  readonly digits: number
  readonly of: (lane: Lane) => Column
  /** 1 if the column has one value for each second. */
  readonly perSecond?: 1
  readonly range?: readonly [number, number | null]
  readonly isStepped?: boolean
  /** Limit that the lanes must keep, drawn as a curve. */
  readonly limit?: { readonly label: string; readonly of: (times: readonly number[]) => Column; readonly unit: string }
}

interface Charted {
  readonly lanes: readonly Lane[]
  readonly durationS: number
  /** Times at which the user changed or disturbed the runs, s. */
  readonly markers: readonly number[]
}

function LaneChart(props: Charted & { readonly quantity: Quantity; readonly isKeyed?: boolean }): JSX.Element {
  const { lanes, durationS, markers, quantity, isKeyed = false } = props
  const { title, unit, digits, of, perSecond, range, isStepped = false, limit } = quantity
  const all = timesOf(lanes)
  // Lanes are extended in place, so the lengths are computed again at each drawing.
  const length = perSecond ? Math.max(0, ...lanes.map((lane) => of(lane).length)) : all.length
  const times = perSecond ? Array.from({ length }, (_, i) => i) : all
  const series = lanes.map((lane) => padded(of(lane), length))
  const limits = limit && padded(limit.of(times), length)
  const valuesAt = (i: number, count: number) =>
    lanes.map(({ name }, lane) => `${name} ${series[lane]?.[i]?.toFixed(count) ?? '–'}`).join(', ')
  const limitAt = (i: number) => (limit ? `; ${limit.label} ${limits![i] ?? '–'} ${limit.unit}` : '')
  return (
    <div>
      <h3>{title}</h3>
      {isKeyed && <Key entries={lanes.map(({ name, color, source }) => ({ label: source ?? name, color }))} />}
      <LineChart
        xLabel="s"
        xRange={[0, Math.max(durationS, all.at(-1) ?? 0)]}
        markers={markers.map((x) => ({ x, color: '--soft' }))}
        height={isKeyed ? 250 : 190}
        yLabel={unit}
        yRange={range}
        description={`${title}; last: ${valuesAt(length - 1, 0)} ${unit}${limitAt(length - 1)}`}
        curves={[
          ...(limit ? [{ label: limit.label, color: '--cap', width: 2, dash: [6, 4], stepped: true }] : []),
          ...lanes.map(({ name, color, source }) => ({ label: source ?? name, color, width: 1.5, stepped: isStepped })),
        ]}
        values={[times, ...(limits ? [limits] : []), ...series]}
        readout={(i) => `${times[i]?.toFixed(perSecond ? 0 : 1)} s: ${valuesAt(i, digits)} ${unit}${limitAt(i)}`}
      />
    </div>
  )
}

/** Plots power and cap. */
export function PowerChart(props: Charted): JSX.Element {
  const longest = props.lanes.reduce<Lane | undefined>((a, b) => (a && a.length >= b.length ? a : b), undefined)
  return (
    <LaneChart
      {...props}
      isKeyed
      quantity={{
        title: "Power, as the board's sensor reads it",
        unit: 'W',
        digits: 1,
        of: (lane) => lane.powerW,
        limit: { label: 'cap', of: () => longest?.powerCapW ?? [], unit: 'W' },
      }}
    />
  )
}

const ofRequests: readonly Quantity[] = [
  {
    title: 'Attainment of the worst service in the last 5 s',
    unit: '%',
    digits: 1,
    of: (lane) => lane.attainment,
    perSecond: 1,
    range: [0, 101],
    limit: { label: 'objective', of: (times) => times.map(() => 99), unit: '%' },
  },
  {
    title: 'Queued requests of all services',
    unit: 'requests',
    digits: 0,
    of: (lane) => lane.waiting,
    perSecond: 1,
    range: [0, null],
  },
]

const ofBoards: readonly Quantity[] = [
  {
    title: 'Throughput over 5 s',
    unit: 'samples/s',
    digits: 1,
    of: (lane) => lane.throughput,
    range: [0, null],
    isStepped: true,
  },
  { title: 'SM clock', unit: 'MHz', digits: 0, of: (lane) => lane.smClockMhz, isStepped: true },
  { title: 'Temperature', unit: '°C', digits: 0, of: (lane) => lane.temperatureC },
]

/** Charts of the requests and of the boards, and the list of decisions. */
export function MoreCharts(props: Charted): JSX.Element {
  const serving = props.lanes.filter(({ services }) => services.length > 0)
  return (
    <div class="pair">
      {serving.length > 0 &&
        ofRequests.map((quantity) => <LaneChart key={quantity.title} {...props} lanes={serving} quantity={quantity} />)}
      {ofBoards.map((quantity) => (
        <LaneChart key={quantity.title} {...props} quantity={quantity} />
      ))}
      <div>
        <h3>Decisions</h3>
        <Decisions lanes={props.lanes} />
      </div>
    </div>
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
    <ol class="decisions" tabIndex={0} aria-label="Decisions, the newest first">
      {lines.map(({ timeMs, text, name, color }, i) => (
        <li key={`${timeMs} ${i}`}>
          <span class="aside">{(timeMs / 1000).toFixed(1)} s</span>
          <span>
            <Chip color={`var(${color})`} /> {name}: {text}
          </span>
        </li>
      ))}
    </ol>
  )
}
