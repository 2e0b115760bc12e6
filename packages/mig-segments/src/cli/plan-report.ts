import path from 'node:path'
import { type Terminal, writeFileAtomically } from '@pctodl/command-line'
import type { MigBoard } from '@pctodl/mig-deploy'
import Table from 'cli-table3'
import type { ServedService, UnservedService } from '../fleet/fleet-plan.js'
import type { BoundedPlan } from '../plan-segments.js'
import { breaksFirst, explainLimits, type ServiceLimit } from '../tail/service-limits.js'

/** Path of a scenario's map, as published: `<output>/SLO<k>/SLO<k>_ParvaGPU_deploy.csv`. */
export function mapFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, `SLO${sloIndex}_ParvaGPU_deploy.csv`)
}

/** Path of a fleet's map. */
export function fleetFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, 'fleet.csv')
}

/** Largest plan, in boards, whose services are simulated until they break; larger ones take too long. */
export const MAX_SIMULATED_BOARDS = 400

export interface Reported {
  readonly served: readonly ServedService[]
  readonly unserved: readonly UnservedService[]
}

/**
 * Write the files of a plan, then print it as text or JSON.
 *
 * @param limits of each service; null where they were not simulated
 * @param files contents by path, the map first
 * @param before text before the table of limits
 * @param after text after it
 * @returns the exit code
 */
export function reportPlan(
  plan: Reported,
  limits: readonly ServiceLimit[] | null,
  files: Readonly<Record<string, string>>,
  [before, after]: readonly [before: string, after: string],
  { json, strict }: { readonly json?: boolean; readonly strict?: boolean },
  terminal: Terminal,
): number {
  for (const [file, content] of Object.entries(files)) writeFileAtomically(file, content)
  const written = Object.keys(files)
  if (json) {
    const known = limits && { limits, breaksFirst: breaksFirst(plan.served, limits) }
    terminal.stdout.write(`${JSON.stringify({ ...plan, ...known, files: written }, null, 2)}\n`)
  } else {
    const said = [before, limits ? explainLimits(plan.served, limits) : '', after].filter((part) => part !== '')
    terminal.stdout.write(`${said.join('\n\n')}\n\nWritten:\n${written.map((file) => `  ${file}\n`).join('')}`)
  }
  for (const { message } of plan.unserved) terminal.stderr.write(`not served: ${message}\n`)
  return strict && plan.unserved.length > 0 ? 1 : 0
}

/** GPUs listed individually; further ones are only counted. */
const SHOWN_GPUS = 40

/** Tables of services and of GPUs. */
export function planTables(
  plan: Pick<BoundedPlan, 'gpus' | 'served'>,
  board: MigBoard,
  gpusPerNode: number,
  terminal: Terminal,
): string {
  const style = terminal.stdout.isTTY ? {} : { head: [], border: [] }
  const services = new Table({ head: ['service', 'rate /s', 'latency ms', 'segments', 'GPCs', 'capacity /s'], style })
  for (const { model, ratePerS, latencyMs, segments, gpcs, capacity } of plan.served) {
    services.push([model, shown(ratePerS), shown(latencyMs), segments, gpcs, shown(capacity)])
  }
  const gpus = new Table({ head: ['node', 'GPU', 'instances: model batch x processes'], style })
  for (const { index, segments } of plan.gpus.slice(0, SHOWN_GPUS)) {
    const list = segments.map(
      ({ sizeGpcs, start, model, batchSize, processes }) =>
        `${board.profileNames[sizeGpcs]}@${start} ${model} ${batchSize}x${processes}`,
    )
    gpus.push([Math.floor(index / gpusPerNode), index % gpusPerNode, inLines(list)])
  }
  const more = plan.gpus.length > SHOWN_GPUS ? `\nand ${plan.gpus.length - SHOWN_GPUS} GPUs more` : ''
  return `${services.toString()}\n${gpus.toString()}${more}`
}

/** Two items per line, so that a row fits a terminal. */
function inLines(list: readonly string[]): string {
  const lines: string[] = []
  for (let i = 0; i < list.length; i += 2) lines.push(list.slice(i, i + 2).join(', '))
  return lines.join(',\n')
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}
