import { PctodlError } from '@pctodl/platform'

export type Charts = typeof import('@pctodl/report/charts')

/** Load the charts of `@pctodl/report`, an optional dependency. */
export async function loadCharts(): Promise<Charts> {
  try {
    return await import('@pctodl/report/charts')
  } catch (cause) {
    throw new PctodlError('CHARTS_MISSING', '--plot needs @pctodl/report: npm install @pctodl/report', { cause })
  }
}

type ModelZoo = typeof import('@pctodl/model-zoo')

/** Load the package that reads graphs, an optional dependency. */
export async function loadModelZoo(): Promise<ModelZoo> {
  try {
    return await import('@pctodl/model-zoo')
  } catch (cause) {
    const message = 'reading a graph needs @pctodl/model-zoo: npm install @pctodl/model-zoo'
    throw new PctodlError('MODEL_ZOO_MISSING', message, { cause })
  }
}
