import { PctodlError } from '@pctodl/platform'

type Charts = typeof import('@pctodl/report/charts')
export type ChartStyle = Pick<Charts, 'chartConfig' | 'palette'>

/**
 * Loads the optional chart package, which only `--plot` needs.
 * @throws PctodlError `MISSING_PACKAGE`
 */
export async function loadCharts(): Promise<Charts> {
  try {
    return await import('@pctodl/report/charts')
  } catch (cause) {
    throw new PctodlError('MISSING_PACKAGE', '--plot needs @pctodl/report; install it: npm install @pctodl/report', {
      cause,
    })
  }
}
