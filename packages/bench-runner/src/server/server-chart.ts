import { chartConfig, INK, palette, type TopLevelSpec } from '@pctodl/charts'
import { type ServerRun, WARM_UP_S } from './run-server-task.js'
import type { ServerPolicyName } from './server-policies.js'
import type { ServerTask } from './server-tasks.js'

const WIDTH = 900
const HEIGHT = 170

export interface ChartedServerRun {
  readonly policy: ServerPolicyName
  readonly run: ServerRun
}

/**
 * The runs of one task over time, three panels with one axis: the requests that came, by service; the power of each policy below
 * the cap; and the requests of each policy that got no answer in time.
 */
export function serverChart(task: ServerTask, runs: readonly ChartedServerRun[]): TopLevelSpec {
  const { trace } = runs[0]!.run
  const arrivals = trace.services.flatMap(({ service, arrived }) =>
    arrived.flatMap((perS, i) => (perS === null ? [] : [{ t: trace.timeS[i]!, perS, service }])),
  )
  const caps = trace.powerCapW.map((capW, i) => ({ t: trace.timeS[i]!, capW }))
  const power = runs.flatMap(({ policy, run }) =>
    run.trace.powerW.map((powerW, i) => ({ t: run.trace.timeS[i]!, powerW, policy })),
  )
  const missed = runs.flatMap(({ policy, run: { trace } }) =>
    trace.timeS.flatMap((t, i) => {
      if (t <= WARM_UP_S) return []
      const missed = trace.services.reduce((sum, { late, shed }) => sum + (late[i] ?? 0) + (shed[i] ?? 0), 0)
      return [{ t, policy, missed }]
    }),
  )
  const x = {
    field: 't',
    type: 'quantitative' as const,
    scale: { domain: [0, task.durationS], nice: false },
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
  const policies = runs.map(({ policy }) => policy)
  const byPolicy = color('policy', policies)
  const panel = { width: WIDTH, height: HEIGHT }
  return {
    config: chartConfig,
    title: {
      text: `Services on ${task.board}: ${task.what}`,
      subtitle: runs.map(({ policy, run }) => lineOf(policy, run)),
      fontSize: 17,
      subtitleFontSize: 13,
      subtitlePadding: 5,
      offset: 14,
    },
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
            task.services.map(({ service }) => service.name),
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
          text: `Requests without an answer in time, each second (once tenants have loaded: from ${WARM_UP_S} s on)`,
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

function lineOf(policy: string, { meanPowerW, energyPerRequestJ, services }: ServerRun): string {
  const worst = Math.min(...services.map(({ attainment }) => attainment ?? 1))
  const energy = energyPerRequestJ === null ? '' : `, ${(1000 * energyPerRequestJ).toFixed(0)} mJ a request`
  return `${policy}: at least ${(100 * worst).toFixed(1)} % of each service in time, ${meanPowerW.toFixed(0)} W${energy}`
}
