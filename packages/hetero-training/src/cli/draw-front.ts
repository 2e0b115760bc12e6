import { writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import type { TrainingJob } from '../training-job.js'
import { frontChart } from './front-chart.js'
import type { PlanAnswer } from './plan-document.js'

/** @throws PctodlError `CHARTS_MISSING` without the package that draws */
export async function drawFront(file: string, { front, plan, compared }: PlanAnswer, job: TrainingJob): Promise<void> {
  const { renderSvg, chartConfig, palette } = await loadCharts()
  const gpus = job.gpus.map(({ profile }) => profile.name).join(', ')
  const subtitle = `${gpus}; global batch ${job.globalBatch}; ${front!.plans.length} plans`
  writeFileAtomically(file, await renderSvg(frontChart(front!, plan, compared, subtitle, { chartConfig, palette })))
}

async function loadCharts() {
  try {
    return await import('@pctodl/charts')
  } catch (cause) {
    throw new PctodlError('CHARTS_MISSING', '--pareto needs @pctodl/charts: npm install @pctodl/charts', { cause })
  }
}
