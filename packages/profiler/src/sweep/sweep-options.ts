import {
  integerFrom,
  listOf,
  newCommand,
  oneOf,
  parseCommand,
  positiveNumber,
  type Terminal,
} from '@pctodl/command-line'
import type { Tenant } from '@pctodl/platform'
import { version } from '../../package.json'
import { addBoardOptions, type BoardOptions, measureOf, tenantsOf } from '../board-options.js'
import type { MeasureOptions } from '../plan/profile-plan.js'
import type { SweptSetting } from './sweep-board.js'

/** Options as typed. */
interface RawOptions extends BoardOptions {
  readonly over: SweptSetting
  readonly memClock?: number
  readonly points: number
}

/** The options of one call of `pctodl sweep`, after checking. */
export interface SweepCommandOptions extends RawOptions {
  readonly tenants: readonly Tenant[]
  readonly measure: Partial<MeasureOptions>
}

/**
 * Parses and checks the command's options.
 *
 * @throws UsageError for an invalid option or value
 */
export async function parseSweepOptions(argv: readonly string[], terminal: Terminal): Promise<SweepCommandOptions> {
  const command = addBoardOptions(
    newCommand(
      {
        name: 'pctodl sweep',
        version,
        description:
          'Find the SM clock or power limit with the most samples per joule for these tenants, from at most six measurements.',
        example: 'pctodl sweep --gpu A100 --model resnet50 --shares 50 50 --batches 16',
      },
      terminal,
    ),
  )
    .option('--model <names...>', 'network of all tenants, or one for each (default resnet50)', listOf(String))
    .option('--batches <samples...>', 'batch sizes of the tenants (default 16)', listOf(integerFrom(1)))
    .option('--over <what>', 'clocks: locked SM clocks; limits: power limits', oneOf('clocks', 'limits'), 'clocks')
    .option('--points <n>', 'largest number of measurements, at least 3', integerFrom(3), 6)
    .option('--mem-clock <MHz>', 'memory clock (default: the highest)', positiveNumber('MHz'))
    .option('--json', 'print the result as JSON on standard output')
  await parseCommand(command, argv)
  const raw = command.opts<RawOptions>()
  return { ...raw, tenants: tenantsOf(raw, { model: ['resnet50'], batches: [16] }), measure: measureOf(raw) }
}
