import { type CommandFunction, newCommand, parseCommand } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { version } from '../../package.json'
import { textOf } from '../config.js'

const service = z.object({ name: z.string(), requests: z.number(), joules: z.number() })
const step = z.object({ services: z.array(service) })

export interface ServiceEnergy {
  readonly service: string
  readonly requests: number
  readonly joules: number
  readonly joulesPerRequest: number | null
}

/**
 * Sums the energy of each service over all runs in a log. Lines that a full disk or a kill cut off are skipped: the
 * next line has the sums.
 *
 * @param onSkipped receives the number of skipped lines, if any
 * @throws PctodlError `LOG` if no line is one of `pctodl govern --log`
 */
export function energyOf(log: string, file: string, onSkipped?: (lines: number) => void): ServiceEnergy[] {
  const sums = new Map<string, { requests: number; joules: number }>()
  const last: typeof sums = new Map()
  let skipped = 0
  const lines = log.split('\n').filter((line) => line.trim() !== '')
  const readings = lines.flatMap((line) => {
    try {
      return step.parse(JSON.parse(line)).services
    } catch {
      skipped++
      return []
    }
  })
  if (lines.length > 0 && skipped === lines.length)
    throw new PctodlError('LOG', `${file}: no line of pctodl govern --log`)
  if (skipped > 0) onSkipped?.(skipped)
  for (const now of readings) {
    const sum = sums.get(now.name) ?? { requests: 0, joules: 0 }
    const before = last.get(now.name) ?? { requests: 0, joules: 0 }
    // A counter that is lower than before begins another run.
    for (const key of ['requests', 'joules'] as const) sum[key] += now[key] - (now[key] < before[key] ? 0 : before[key])
    sums.set(now.name, sum)
    last.set(now.name, now)
  }
  return [...sums].map(([service, sum]) => {
    return { service, ...sum, joulesPerRequest: sum.requests === 0 ? null : sum.joules / sum.requests }
  })
}

export const energy: CommandFunction = async (argv, terminal) => {
  const description = 'Energy of each service and request, from the log of pctodl govern.'
  const example = 'pctodl energy govern.jsonl --json'
  const command = newCommand({ name: 'pctodl energy', version, description, example }, terminal)
  command.argument('<log>', 'log that pctodl govern --log wrote').option('--json', 'print JSON instead of CSV')
  await parseCommand(command, argv)
  const [file = ''] = command.args
  const services = energyOf(textOf(file), file, (lines) =>
    terminal.stderr.write(`pctodl energy: ${file}: ${lines} incomplete or foreign lines were skipped\n`),
  )
  if (command.opts<{ json?: boolean }>().json) terminal.stdout.write(`${JSON.stringify(services, null, 2)}\n`)
  else {
    terminal.stdout.write('service,requests,joules,joules_per_request\n')
    for (const { service, requests, joules, joulesPerRequest } of services) {
      terminal.stdout.write(`${service},${requests},${joules.toFixed(1)},${joulesPerRequest?.toFixed(4) ?? ''}\n`)
    }
  }
  return 0
}
