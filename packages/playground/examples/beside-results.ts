import { exportPage } from '@pctodl/playground'

/** Put the playground beside the results of an experiment. */
export function besideResults(folder: string): string {
  return exportPage(`${folder}/playground`)
}
