import path from 'node:path'
import { writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { type ChartedSchedule, completionChart, usageChart } from '../report/schedule-charts.js'
import type { ScheduleRun } from './run-schedule.js'

/** @returns the files written */
export async function drawCharts(folder: string, runs: readonly ScheduleRun[]): Promise<string[]> {
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
