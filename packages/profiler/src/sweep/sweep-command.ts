import { type CommandFunction, jsonText } from '@pctodl/command-line'
import { openAsked } from '../board-options.js'
import { efficiencyOf, type KneePoint } from './find-knee.js'
import { type Sweep, sweepBoard, unitOf } from './sweep-board.js'
import { parseSweepOptions } from './sweep-options.js'

/** The command `pctodl sweep`: runs with the given arguments and returns an exit code. */
export const pctodlSweep: CommandFunction = async (argv, terminal) => {
  const options = await parseSweepOptions(argv, terminal)
  const { over } = options
  const note = (text: string) => terminal.stderr.write(`${text}\n`)
  const backend = await openAsked(options, note)
  try {
    note(backend.description)
    const sweep = await sweepBoard(backend, {
      ...options,
      maxPoints: options.points,
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
