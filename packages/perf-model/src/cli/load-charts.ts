import { PctodlError } from '@pctodl/platform'

type Charts = typeof import('@pctodl/charts')

/** The charts package, which only some options need. */
export async function loadCharts(option = '--plot'): Promise<Charts> {
  try {
    return await import('@pctodl/charts')
  } catch (cause) {
    throw new PctodlError('CHARTS_MISSING', `${option} needs @pctodl/charts: npm install @pctodl/charts`, { cause })
  }
}
