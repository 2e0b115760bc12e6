import {
  type CommandFunction,
  integerFrom,
  jsonText,
  listOf,
  newCommand,
  oneOf,
  parseCommand,
  positiveNumber,
} from '@pctodl/command-line'
import { version } from '../../package.json'
import { addBoardOptions, type BoardOptions, measureOf, openAsked, tenantsOf } from '../board-options.js'
import { efficiencyOf, type KneePoint } from './find-knee.js'
import { type Sweep, type SweptSetting, sweepBoard, unitOf } from './sweep-board.js'

/** Options as typed. */
interface RawOptions extends BoardOptions {
  readonly over: SweptSetting
  readonly memClock?: number
}

/** The command `pctodl sweep`: runs with the given arguments and returns an exit code. */
export const pctodlSweep: CommandFunction = async (argv, terminal) => {
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
    .option('--mem-clock <MHz>', 'memory clock (default: the highest)', positiveNumber('MHz'))
    .option('--json', 'print the result as JSON on standard output')
  await parseCommand(command, argv)
  const options = command.opts<RawOptions>()
  const { over } = options
  const tenants = tenantsOf(options, { model: ['resnet50'], batches: [16] })
  const note = (text: string) => terminal.stderr.write(`${text}\n`)
  const backend = await openAsked(options, note)
  try {
    note(backend.description)
    const sweep = await sweepBoard(backend, {
      tenants,
      over,
      measure: measureOf(options),
      memClockMhz: options.memClock ?? backend.gpu.spec.performanceMemClocksMhz[0]!,
      signal: terminal.signal,
      onRow: (point) => note(describePoint(over, point)),
    })
    terminal.stdout.write(options.json ? jsonText(jsonOf(sweep, backend.gpu.spec.key)) : textOf(sweep))
    return 0
  } finally {
    await backend.close()
  }
}

function describePoint(over: Sweep['over'], point: KneePoint): string {
  const { setting, throughput, powerW } = point
  return `${unitOf(over, setting)}: ${throughput.toFixed(0)} samples/s, ${powerW.toFixed(1)} W, ${efficiencyOf(point).toFixed(2)} samples/J`
}

function textOf({ over, best, highest, points }: Sweep): string {
  const lines = [`Most for a watt at ${describePoint(over, best)} (${points.length} measurements)`]
  if (highest !== undefined && highest !== best) {
    const part = (value: number, of: number) => {
      const percent = (100 * (value / of - 1)).toFixed(0)
      return `${value > of ? '+' : ''}${percent} %`
    }
    lines.push(
      `against ${unitOf(over, highest.setting)}: ${part(efficiencyOf(best), efficiencyOf(highest))} samples/J, ` +
        `${part(best.throughput, highest.throughput)} throughput, ${part(best.powerW, highest.powerW)} power`,
    )
  }
  return `${lines.join('\n')}\n`
}

function jsonOf({ over, best, highest, points }: Sweep, board: string) {
  const withEfficiency = (point: KneePoint) => ({ ...point, samplesPerJoule: efficiencyOf(point) })
  return {
    board,
    over,
    best: withEfficiency(best),
    highest: highest === undefined ? null : withEfficiency(highest),
    points: points.map(withEfficiency),
  }
}
