import { computeModeCode } from '../nvml/compute-mode.js'
import type { BoardChange } from './board-change.js'

/** What `nvidia-smi` is called with for a change. The sudoers drop-in allows exactly these words. */
export function smiArguments(uuid: string, change: BoardChange): string[] {
  return ['-i', uuid, ...settingArguments(change)]
}

function settingArguments(change: BoardChange): string[] {
  switch (change.kind) {
    case 'power-limit':
      return ['-pl', wattText(change.powerLimitW)]
    case 'sm-clock':
      return change.range ? ['-lgc', `${change.range.minMhz},${change.range.maxMhz}`] : ['-rgc']
    case 'mem-clock':
      return change.range ? ['-lmc', `${change.range.minMhz},${change.range.maxMhz}`] : ['-rmc']
    case 'compute-mode':
      return ['-c', String(computeModeCode(change.mode))]
    case 'persistence':
      return ['-pm', change.enabled ? '1' : '0']
  }
}

/** Whole watts without a fraction, others with two digits, as the tool prints them. */
function wattText(powerLimitW: number): string {
  return Number.isInteger(powerLimitW) ? String(powerLimitW) : powerLimitW.toFixed(2)
}
