import { chartConfig, INK, palette, type TopLevelSpec } from '../charts.js'
import type { RunRecord } from '../record/run-record.js'
import { chartTitle } from './chart-parts.js'

const WIDTH = 900
const HEIGHT = 170
/** Requests are counted from this time of the run on, s. By then, tenants have loaded. */
const COUNTED_FROM_S = 10

/**
 * Draws runs with services in three panels with a common time axis: arrivals of each service, power and the cap, and
 * the requests that missed their objective under each algorithm. Runs without requests are omitted.
 */
export function requestsChart(records: readonly RunRecord[]): TopLevelSpec {
  const runs = records.flatMap(({ requests, ...run }) => (requests ? [{ ...run, requests }] : []))
  const first = runs[0]!
  const arrivals = first.requests.perSecond.flatMap(({ service, arrived }) =>
    arrived.flatMap((perS, i) => (perS === null ? [] : [{ t: i + 1, perS, service }])),
  )
  const seconds = first.requests.perSecond[0]?.arrived.length ?? 0
  const caps = perSecond(first.power, first.power.powerCapW).map(({ t, value }) => ({ t, capW: value }))
  const power = runs.flatMap(({ algorithm, power }) =>
    perSecond(power, power.trueW ?? power.sensorW).map(({ t, value }) => ({ t, powerW: value, policy: algorithm })),
  )
  const missed = runs.flatMap(({ algorithm, requests }) =>
    Array.from({ length: seconds }, (_, i) => ({
      t: i + 1,
      policy: algorithm,
      missed: requests.perSecond.reduce((sum, each) => sum + (each.missed[i] ?? 0), 0),
    })).filter(({ t }) => t > COUNTED_FROM_S),
  )
  const x = {
    field: 't',
    type: 'quantitative' as const,
    scale: { domain: [0, seconds], nice: false },
    axis: { title: 'time, s', tickCount: 12 },
  }
  const y = (field: string, zero = true) => ({
    field,
    type: 'quantitative' as const,
    scale: { zero },
    axis: { title: null, tickCount: 5, minExtent: 44 },
  })
  const color = (field: string, domain: readonly string[]) => ({
    field,
    type: 'nominal' as const,
    scale: { domain: [...domain], range: domain.map((_, i) => palette[i % palette.length]!) },
    legend: { title: null, orient: 'right' as const },
  })
  const policies = runs.map(({ algorithm }) => algorithm)
  const byPolicy = color('policy', policies)
  const panel = { width: WIDTH, height: HEIGHT }
  return {
    config: chartConfig,
    title: chartTitle(`Task ${first.taskId}: services ${first.model} on ${first.board}`, runs.map(lineOf)),
    spacing: 24,
    resolve: { scale: { color: 'independent' } },
    vconcat: [
      {
        ...panel,
        title: { text: 'Requests that came, each second', anchor: 'start', fontSize: 13 },
        data: { values: arrivals },
        mark: { type: 'line', strokeWidth: 1.5 },
        encoding: {
          x,
          y: y('perS'),
          color: color(
            'service',
            first.requests.perSecond.map(({ service }) => service),
          ),
        },
      },
      {
        ...panel,
        title: { text: 'Power, W (dashed: the cap)', anchor: 'start', fontSize: 13 },
        layer: [
          {
            data: { values: power },
            mark: { type: 'line', strokeWidth: 1.5 },
            encoding: { x, y: y('powerW'), color: byPolicy },
          },
          {
            data: { values: caps },
            mark: { type: 'line', interpolate: 'step-before', strokeDash: [5, 4], color: INK },
            encoding: { x, y: y('capW') },
          },
        ],
      },
      {
        ...panel,
        title: {
          text: `Requests without an answer in time, each second (once tenants have loaded: from ${COUNTED_FROM_S} s on)`,
          anchor: 'start',
          fontSize: 13,
        },
        data: { values: missed },
        mark: { type: 'line', strokeWidth: 1.5 },
        encoding: { x, y: y('missed'), color: byPolicy },
      },
    ],
  }
}

function lineOf({ algorithm, requests }: { algorithm: string; requests: NonNullable<RunRecord['requests']> }): string {
  const worst = Math.min(...requests.services.map(({ attainment }) => attainment ?? 1))
  const energy =
    requests.energyPerRequestJ === null ? '' : `, ${(1000 * requests.energyPerRequestJ).toFixed(0)} mJ a request`
  return `${algorithm}: at least ${(100 * worst).toFixed(1)} % of each service in time, ${requests.meanPowerW.toFixed(0)} W${energy}`
}

/** Averages the samples of each second. */
function perSecond({ timeMs }: RunRecord['power'], values: readonly (number | null)[]): { t: number; value: number }[] {
  const sums: { sum: number; count: number }[] = []
  timeMs.forEach((at, i) => {
    const second = Math.ceil(at / 1000) - 1
    const value = values[i]
    if (second < 0 || value === null || value === undefined) return
    sums[second] ??= { sum: 0, count: 0 }
    sums[second].sum += value
    sums[second].count++
  })
  return sums.flatMap(({ sum, count }, i) => [{ t: i + 1, value: Math.round((10 * sum) / count) / 10 }])
}
