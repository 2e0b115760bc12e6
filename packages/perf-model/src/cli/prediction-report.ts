import type { Tenant } from '@pctodl/platform'
import Table from 'cli-table3'
import { type Domain, describeOutside } from '../domain.js'
import type { Prediction } from '../predictor.js'

export interface FoundPrediction {
  readonly board: string
  readonly memClockMhz: number
  readonly smClockMhz: number
  readonly parameters: string
  readonly configuration: readonly Tenant[]
  readonly prediction: Prediction
  readonly domain: Domain
}

/** Text report of a prediction: totals, tenants, then the fields outside the fitted domain. */
export function formatPrediction(found: FoundPrediction): string {
  const { board, memClockMhz, smClockMhz, parameters, configuration, prediction, domain } = found
  const { throughput, powerW, smUtilPercent, memUtilPercent, throughputSd, powerSdW, tenants } = prediction
  const give = (sd: number | undefined) => (sd === undefined ? '' : ` +- ${sd.toFixed(sd < 10 ? 1 : 0)}`)
  const lines = [
    `Board ${board}, memory ${memClockMhz} MHz, SM ${smClockMhz} MHz`,
    `Parameters: ${parameters}`,
    '',
    `Throughput       ${throughput.toFixed(2)}${give(throughputSd)} samples/s`,
    `Power            ${powerW.toFixed(2)}${give(powerSdW)} W`,
    `SM Utilization   ${smUtilPercent.toFixed(2)} %`,
    `MEM Utilization  ${memUtilPercent.toFixed(2)} %`,
  ]
  const table = newTable(['network', 'share', 'batch', 'samples/s', 'latency', 'p99 (est.)'])
  configuration.forEach(({ model, mpsPercent, batchSize }, i) => {
    const { throughput: own, latencyMs, p99LatencyMs } = tenants[i]!
    const p99 = p99LatencyMs === undefined ? '' : `${p99LatencyMs.toFixed(1)} ms`
    table.push([model, `${mpsPercent} %`, batchSize, own.toFixed(1), `${latencyMs.toFixed(1)} ms`, p99])
  })
  lines.push('', table.toString())
  for (const outside of domain.outside) lines.push(describeOutside(outside))
  return `${lines.join('\n')}\n`
}

/** Plain-text table: first column left-aligned, all others right-aligned. */
export function newTable(head: readonly string[]): Table.Table {
  const line = { mid: '', left: '', 'left-mid': '', 'mid-mid': '', right: '', 'right-mid': '' }
  const edge = { top: '', 'top-mid': '', 'top-left': '', 'top-right': '' }
  const bottom = { bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' }
  return new Table({
    head: [...head],
    colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')),
    chars: { ...line, ...edge, ...bottom, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
}
