import type { JSX } from 'preact'
import { LineChart } from '../parts/line-chart.js'
import { Scrolling } from '../parts/scrolling.js'
import type { SweepPoint } from './cap-sweep.js'

const rate = (value: number) => `${value.toFixed(1)} samples/s`
const energy = (value: number) => `${value.toFixed(4)} J`

/** What every cap would give; a click takes its cap. */
export function SweepCharts(props: {
  readonly points: readonly SweepPoint[]
  readonly powerCapW: number
  readonly range: readonly [number, number]
  readonly onPick: (powerCapW: number) => void
}): JSX.Element {
  const { points, powerCapW, range } = props
  const caps = points.map((point) => point.powerCapW)
  const shared = {
    xLabel: 'power cap, W',
    xRange: range,
    markers: [{ x: powerCapW, color: '--cap' }],
    fromMarker: true,
    onPick: (x: number) => props.onPick(Math.round(x)),
  }
  const [first, last] = [points[0], points.at(-1)]
  const describe = (what: string, of: (point: SweepPoint) => string) =>
    first && last
      ? `${what} over the power cap: ${of(first)} at ${first.powerCapW} W, ${of(last)} at ${last.powerCapW} W`
      : `${what} over the power cap`
  return (
    <div class="pair">
      <div>
        <h3>Throughput</h3>
        <LineChart
          {...shared}
          description={describe('Throughput', (point) => rate(point.throughput))}
          height={230}
          yLabel="samples/s"
          yRange={[0, null]}
          curves={[
            { label: 'high', color: '--plan', hidden: true },
            { label: 'throughput', color: '--plan' },
            { label: 'low', color: '--plan', hidden: true },
          ]}
          readout={(i) => {
            const { powerCapW: cap, throughput, throughputInterval } = points[i]!
            return `${cap} W: ${rate(throughput)}, 95 % between ${throughputInterval.map((value) => value.toFixed(0)).join(' and ')}`
          }}
          bands={[{ between: [0, 2], color: '--plan-band' }]}
          values={[
            caps,
            points.map((point) => point.throughputInterval[1]),
            points.map((point) => point.throughput),
            points.map((point) => point.throughputInterval[0]),
          ]}
        />
      </div>
      <div>
        <h3>Energy of a sample</h3>
        <LineChart
          {...shared}
          description={describe('Energy of a sample', (point) => energy(point.powerW / point.throughput))}
          height={230}
          yLabel="J"
          yRange={[0, energyRange(points)]}
          readout={(i) => {
            const { powerCapW: cap, throughput, powerW, tenants, smClockMhz } = points[i]!
            return `${cap} W: ${energy(powerW / throughput)}; ${tenants} ${tenants === 1 ? 'process' : 'processes'} at ${smClockMhz} MHz`
          }}
          curves={[{ label: 'energy', color: '--energy' }]}
          values={[caps, points.map((point) => point.powerW / point.throughput)]}
        />
      </div>
    </div>
  )
}

/** Close to the lowest cap a sample costs many times the least; the plot is for where people work. */
function energyRange(points: readonly SweepPoint[]): number | null {
  const least = Math.min(...points.map(({ powerW, throughput }) => powerW / throughput))
  return Number.isFinite(least) ? least * 2.5 : null
}

/** The same as figures. */
export function SweepTable({ points }: { readonly points: readonly SweepPoint[] }): JSX.Element {
  return (
    <details class="as-table">
      <summary>The sweep as a table</summary>
      <Scrolling label="The plan for each cap" tall>
        <table>
          <thead>
            <tr>
              {[
                'cap, W',
                'samples/s',
                '95 % interval',
                'power, W',
                'J/sample',
                'SM, MHz',
                'memory, MHz',
                'processes',
              ].map((head) => (
                <th scope="col" key={head}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {points.map((point) => (
              <tr key={point.powerCapW}>
                <td>{point.powerCapW}</td>
                <td>{point.throughput.toFixed(1)}</td>
                <td>{point.throughputInterval.map((value) => value.toFixed(0)).join(' – ')}</td>
                <td>{point.powerW.toFixed(1)}</td>
                <td>{(point.powerW / point.throughput).toFixed(4)}</td>
                <td>{point.smClockMhz}</td>
                <td>{point.memClockMhz}</td>
                <td>{point.tenants}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </details>
  )
}
