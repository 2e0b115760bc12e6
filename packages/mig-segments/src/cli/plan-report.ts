import path from 'node:path'
import { type Terminal, writeFileAtomically } from '@pctodl/command-line'
import Table from 'cli-table3'
import type { ServedService, UnservedService } from '../fleet/fleet-plan.js'
import type { FleetBoard } from '../fleet/place-fleet.js'
import { shown } from '../output/explain.js'
import { breaksFirst, type ServiceLimit } from '../tail/service-limits.js'

/** Path of the map of a scenario, as ParvaGPU names it: `<output>/SLO<k>/SLO<k>_ParvaGPU_deploy.csv`. */
export function mapFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, `SLO${sloIndex}_ParvaGPU_deploy.csv`)
}

/** Path of a fleet's map. */
export function fleetFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, 'fleet.csv')
}

/** The parts of a plan that are printed. */
export interface Reported {
  /** For the JSON report. */
  readonly plan: { readonly served: readonly ServedService[]; readonly unserved: readonly UnservedService[] }
  readonly boards: readonly FleetBoard[]
  /** Text below the tables: bounds, and the steps of a change. */
  readonly text: string
}

export function warn(warnings: readonly string[], { stderr }: Terminal): void {
  for (const warning of warnings) stderr.write(`warning: ${warning}\n`)
}

/**
 * Writes files, then prints a result as text or JSON, and the services that it does not serve.
 *
 * @param files contents by path, the map first; null for a folder that exists already
 */
export function report(
  result: { readonly unserved: readonly UnservedService[] },
  text: string,
  files: ReadonlyMap<string, string | null>,
  json: boolean | undefined,
  { stdout, stderr }: Terminal,
): void {
  for (const [file, content] of files) if (content !== null) writeFileAtomically(file, content)
  const written = [...files.keys()]
  if (json) stdout.write(`${JSON.stringify({ ...result, files: written }, null, 2)}\n`)
  else stdout.write(`${text}\n\nWritten:\n${written.map((file) => `  ${file}\n`).join('')}`)
  for (const { message } of result.unserved) stderr.write(`not served: ${message}\n`)
}

/**
 * Table of a plan's services. If `limits` of a simulation are given, the table also shows utilization, p99 latency and
 * the rate at which each service breaks its objective, and a last line names the service that breaks first.
 */
export function serviceTable(
  served: readonly ServedService[],
  limits: readonly ServiceLimit[] | null,
  terminal: Terminal,
): string {
  const simulated = limits ? ['used', 'p99 ms', 'breaks at /s'] : []
  const table = tableOf(['service', 'rate /s', 'latency ms', 'segments', 'GPCs', 'capacity /s', ...simulated], terminal)
  served.forEach(({ model, ratePerS, latencyMs, segments, gpcs, capacity }, m) => {
    const row = [model, shown(ratePerS), shown(latencyMs), segments, gpcs, shown(capacity)]
    if (limits) {
      const { utilisation, p99Ms, breaksAtPerS } = limits[m]!
      row.push(
        `${(100 * utilisation).toFixed(0)} %`,
        shown(p99Ms),
        breaksAtPerS === 0 ? 'is late' : shown(breaksAtPerS),
      )
    }
    table.push(row)
  })
  const first = limits && breaksFirst(served, limits)
  if (!first) return table.toString()
  const by = first.factor === 0 ? 'at its rate' : `at ${((first.factor - 1) * 100).toFixed(0)} % more than its rate`
  return `${table.toString()}\nBy simulated requests, ${first.model} breaks first, ${by}.`
}

/** Number of boards that are listed individually. Further ones are only counted. */
const SHOWN_BOARDS = 40

export function boardTable(boards: readonly FleetBoard[], terminal: Terminal): string {
  const clocked = boards.some(({ smClockMhz }) => smClockMhz !== undefined)
  const measured = boards.some(({ powerW }) => !Number.isNaN(powerW))
  const optional = [...(clocked ? ['MHz'] : []), ...(measured ? ['W'] : [])]
  const table = tableOf(['board', 'node', 'GPU', ...optional, 'instances: model batch x processes'], terminal)
  for (const { gpu, node, index, smClockMhz, powerW, segments } of boards.slice(0, SHOWN_BOARDS)) {
    const instances = new Map<number, string>()
    for (const { profile, start, model, batchSize, processes } of segments) {
      const before = instances.get(start)
      const place = before === undefined ? `${profile}@${start}` : `${before} +`
      instances.set(start, `${place} ${model} ${batchSize}x${processes}`)
    }
    table.push([
      ...[gpu, node, index, ...(clocked ? [smClockMhz ?? ''] : [])],
      ...(measured ? [Number.isNaN(powerW) ? '' : powerW.toFixed(0)] : []),
      inLines([...instances.values()]),
    ])
  }
  const more = boards.length > SHOWN_BOARDS ? `\nand ${boards.length - SHOWN_BOARDS} GPUs more` : ''
  return `${table.toString()}${more}`
}

export function tableOf(head: string[], { stdout }: Terminal): Table.Table {
  return new Table({ head, style: stdout.isTTY ? {} : { head: [], border: [] } })
}

/** Two items per line, so that a row fits a terminal. */
function inLines(list: readonly string[]): string {
  const lines: string[] = []
  for (let i = 0; i < list.length; i += 2) lines.push(list.slice(i, i + 2).join(', '))
  return lines.join(',\n')
}
