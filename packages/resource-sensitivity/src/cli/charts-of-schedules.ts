import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import type { UsageBin } from '../engine/usage-record.js'

export interface ChartedSchedule {
  readonly policy: string
  readonly mechanism: string
  readonly completionS: readonly number[]
  readonly timeline: readonly UsageBin[] | null
}

export interface ChartStyle {
  readonly config: object
  readonly palette: readonly string[]
}

/** Points drawn of each distribution: more cannot be told apart. */
const POINTS = 400

/** Distribution of completion times, one line a mechanism and one panel a policy, hours on a logarithmic axis. */
export function completionChart(schedules: readonly ChartedSchedule[], { config, palette }: ChartStyle): object {
  const values = schedules.flatMap(({ policy, mechanism, completionS }) => {
    const sorted = Float64Array.from(completionS).sort()
    const count = Math.min(POINTS, sorted.length)
    return Array.from({ length: count }, (_, i) => {
      const at = count === 1 ? 0 : Math.round((i * (sorted.length - 1)) / (count - 1))
      return { policy, mechanism, hours: sorted[at]! / 3600, percent: (100 * (at + 1)) / sorted.length }
    })
  })
  const policies = [...new Set(schedules.map(({ policy }) => policy))]
  const mechanisms = [...new Set(schedules.map(({ mechanism }) => mechanism))]
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    config,
    title: 'Completion times',
    data: { values },
    facet: { row: { field: 'policy', type: 'nominal', title: null, sort: policies } },
    spec: {
      width: 640,
      height: policies.length > 2 ? 180 : 300,
      mark: { type: 'line', interpolate: 'step-after', strokeWidth: 2 },
      encoding: {
        x: {
          field: 'hours',
          type: 'quantitative',
          scale: { type: 'log', nice: false },
          title: 'completion time, hours',
          axis: { format: '~g', labelOverlap: true },
        },
        y: { field: 'percent', type: 'quantitative', title: 'jobs finished, %', scale: { domain: [0, 100] } },
        color: {
          field: 'mechanism',
          type: 'nominal',
          title: null,
          sort: null,
          scale: { domain: mechanisms, range: palette },
        },
      },
    },
  }
}

/** GPUs, CPU cores and memory in use over time, one panel a schedule. */
export function usageChart(schedules: readonly ChartedSchedule[], { config, palette }: ChartStyle): object {
  const endS = Math.max(0, ...schedules.flatMap(({ timeline }) => timeline?.map((bin) => bin.endS) ?? []))
  const nameOf = ({ policy, mechanism }: ChartedSchedule) => `${policy} ${mechanism}`
  const values = schedules.flatMap((schedule) =>
    (schedule.timeline ?? []).flatMap((bin) =>
      (['gpu', 'cpu', 'memory'] as const).map((resource) => ({
        schedule: nameOf(schedule),
        hours: (bin.startS + bin.endS) / 7200,
        resource: { gpu: 'GPUs', cpu: 'CPU cores', memory: 'memory' }[resource],
        percent: bin[resource] * 100,
      })),
    ),
  )
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    config,
    title: 'In use over time',
    data: { values },
    facet: { row: { field: 'schedule', type: 'nominal', title: null, sort: schedules.map(nameOf) } },
    spec: {
      width: 640,
      height: schedules.length > 4 ? 90 : 150,
      mark: { type: 'line', strokeWidth: 1.5 },
      encoding: {
        x: {
          field: 'hours',
          type: 'quantitative',
          title: 'time, hours',
          scale: { domain: [0, endS / 3600], nice: false },
        },
        y: { field: 'percent', type: 'quantitative', title: 'in use, %', scale: { domain: [0, 100] } },
        color: {
          field: 'resource',
          type: 'nominal',
          title: null,
          scale: { domain: ['GPUs', 'CPU cores', 'memory'], range: palette.slice(0, 3) },
        },
      },
    },
  }
}

interface ChartedRun extends Omit<ChartedSchedule, 'completionS'> {
  readonly jobs: readonly { readonly completionS: number }[]
}

/** @returns the files written */
export async function drawCharts(folder: string, runs: readonly ChartedRun[]): Promise<string[]> {
  const { renderSvg, renderPng, chartConfig, palette } = await loadCharts()
  const schedules = runs.map(
    ({ policy, mechanism, jobs, timeline }): ChartedSchedule => ({
      policy,
      mechanism,
      completionS: jobs.map(({ completionS }) => completionS),
      timeline,
    }),
  )
  const style = { config: chartConfig, palette }
  const charts: [string, object][] = [['completion-times', completionChart(schedules, style)]]
  if (schedules.every(({ timeline }) => timeline !== null)) charts.push(['in-use', usageChart(schedules, style)])
  const files: string[] = []
  for (const [name, spec] of charts) {
    const svg = await renderSvg(spec as Parameters<typeof renderSvg>[0])
    const stem = path.join(folder, name)
    writeFileAtomically(`${stem}.svg`, svg)
    writeFileAtomically(`${stem}.png`, await renderPng(svg))
    files.push(`${stem}.svg`, `${stem}.png`)
  }
  return files
}

async function loadCharts() {
  try {
    return await import('@pctodl/charts')
  } catch (error) {
    throw new PctodlError('CHARTS_MISSING', '--plot needs @pctodl/charts: npm install @pctodl/charts', { cause: error })
  }
}
