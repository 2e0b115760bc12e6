import { exportPage } from '@pctodl/playground'

/** Put the playground beside the results of an experiment, for whoever reads them. */
export function besideResults(folder: string): string {
  return exportPage(`${folder}/playground`)
}
