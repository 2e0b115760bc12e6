import { sum } from '@pctodl/numerics'
import { palette } from '../charts.js'
import type { ServedRequests } from '../record/run-record.js'
import {
  type ChartedRun,
  type ChartPanel,
  nominal,
  panelTitle,
  quantity,
  type TimeAxis,
  timeEncoding,
} from './chart-parts.js'

/** Height of a panel, px. */
const HEIGHT = 200

/** Requests are counted from this time of the run on, s. By then, tenants have loaded. */
const COUNTED_FROM_S = 10

/** A point of a line: the line's name, the time on the axis, and the value. */
interface Point {
  readonly algorithm: string
  readonly t: number
  readonly value: number
}

const hollowPoint = { type: 'point' as const, filled: false, fill: '#ffffff', size: 26, strokeWidth: 1.3 }

/** A panel with a line for each name, in the order and the colours of the legend. Some points may be marked. */
function linePanel(
  title: string,
  colors: ReadonlyMap<string, string>,
  points: readonly Point[],
  time: TimeAxis,
  hollow: readonly Point[] = [],
): ChartPanel {
  // An explicit domain, because Vega cannot find the domain of a layer without points.
  const top = points.reduce((highest, { value }) => Math.max(highest, value), 0) || 1
  const encoding = {
    x: timeEncoding(time, true),
    y: quantity('value', {
      scale: { domain: [0, top], nice: true },
      axis: { title: null, tickCount: 6, minExtent: 44, format: ',~r' },
    }),
    color: nominal('algorithm', {
      scale: { domain: [...colors.keys()], range: [...colors.values()] },
      legend: { title: null, orient: 'right' as const, offset: 30, symbolType: 'stroke' },
    }),
  }
  return {
    height: HEIGHT,
    title: panelTitle(title),
    layer: [
      { data: { values: [...points] }, mark: { type: 'line', strokeWidth: 1.8 }, encoding },
      { data: { values: [...hollow] }, mark: hollowPoint, encoding },
    ],
  }
}

const colorsOf = (runs: readonly ChartedRun[]) => new Map(runs.map(({ run, color }) => [run.algorithm, color]))

/** Throughput of each measuring window. Windows with restarts are hollow points. */
export function throughputPanel(runs: readonly ChartedRun[], time: TimeAxis): ChartPanel {
  const points = runs.flatMap(({ run: { algorithm, windows } }) =>
    windows.map(({ startMs, endMs, throughput, reconfigured }) => {
      return { algorithm, t: (startMs + endMs) / 2 / time.msPerUnit, value: throughput, reconfigured }
    }),
  )
  const hollow = points.filter(({ reconfigured }) => reconfigured)
  const legend = hollow.length > 0 ? ' (hollow points: windows in which tenants restarted)' : ''
  return linePanel(`Throughput per window, samples/s${legend}`, colorsOf(runs), points, time, hollow)
}

/** Arrivals of each service in each second. They are the same in all runs. */
export function arrivalsPanel({ perSecond }: ServedRequests, time: TimeAxis): ChartPanel {
  const points = perSecond.flatMap(({ service, arrived }) => pointsOf(service, arrived, time))
  const ofServices = new Map(perSecond.map(({ service }, i) => [service, palette[i % palette.length]!]))
  return linePanel('Arrivals, requests/s', ofServices, points, time)
}

/** Requests of all services that missed their objective, in each second. */
export function missedPanel(runs: readonly ChartedRun[], time: TimeAxis): ChartPanel {
  const points = runs.flatMap(({ run: { algorithm, requests } }) => {
    const missed = requests!.perSecond.map((service) => service.missed)
    const ofAll = missed[0]?.map((_, i) => (i < COUNTED_FROM_S ? null : sum(missed.map((counts) => counts[i] ?? 0))))
    return pointsOf(algorithm, ofAll ?? [], time)
  })
  const title = `Requests that missed their objective, requests/s (counted from ${COUNTED_FROM_S} s on)`
  return linePanel(title, colorsOf(runs), points, time)
}

/** One point for each second with a count, at the end of the second. */
function pointsOf(algorithm: string, perSecond: readonly (number | null)[], { msPerUnit }: TimeAxis): Point[] {
  return perSecond.flatMap((value, i) =>
    value === null ? [] : [{ algorithm, t: (1000 * (i + 1)) / msPerUnit, value }],
  )
}
