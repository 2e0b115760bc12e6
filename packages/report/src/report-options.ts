import { numberBetween } from '@pctodl/command-line'
import type { Command } from 'commander'
import { type CostFactors, usualCostFactors } from './page/cost.js'

/** What every command that writes a report asks for, beside what it reports on. */
export interface RawReportOptions {
  readonly pictures?: boolean
  readonly paper?: string
  readonly pricePerKwh: number
  readonly currency: string
  readonly carbonPerKwh: number
  readonly json?: boolean
}

export function addReportOptions(command: Command): Command {
  return command
    .option('--pictures', 'draw every chart as SVG and PNG too')
    .option('--paper <folder>', 'figures of 8.5 and 17.5 cm (SVG, PDF) and tables (LaTeX, CSV) for a paper, too')
    .option('--price-per-kwh <price>', 'price of electricity', numberBetween(0, 1000), usualCostFactors.pricePerKwh)
    .option('--currency <name>', 'its currency', usualCostFactors.currency)
    .option(
      '--carbon-per-kwh <kg>',
      'emissions of electricity, kg CO2',
      numberBetween(0, 10),
      usualCostFactors.carbonKgPerKwh,
    )
    .option('--json', 'print the list of files as JSON')
}

export function costFactorsOf({ pricePerKwh, currency, carbonPerKwh }: RawReportOptions): CostFactors {
  return { pricePerKwh, currency, carbonKgPerKwh: carbonPerKwh }
}

/** What such a command prints: its files, the first three of them where a person reads. */
export function writtenFiles(files: readonly string[], folder: string, json: boolean): string {
  if (json) return `${JSON.stringify({ files }, null, 2)}\n`
  return `${files.slice(0, 3).join('\n')}\n${files.length > 3 ? `and ${files.length - 3} more in ${folder}\n` : ''}`
}
