import path from 'node:path'
import { type Terminal, writeFileAtomically } from '@pctodl/command-line'
import type { MigBoard } from '@pctodl/mig-deploy'
import Table from 'cli-table3'
import type { UnservedService } from '../fleet/fleet-plan.js'
import type { ServiceObjective } from '../profile.js'
import type { SegmentPlan } from '../segment-plan.js'
import { breaksFirst, explainLimits, type ServiceLimit } from '../tail/service-limits.js'

/** Where the map of a scenario lies, as published: `<output>/SLO<k>/SLO<k>_ParvaGPU_deploy.csv`. */
export function mapFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, `SLO${sloIndex}_ParvaGPU_deploy.csv`)
}

/** Where the map of a fleet lies. */
export function fleetFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, 'fleet.csv')
}

/** Boards of the largest plan whose services are simulated until they break: larger ones take too long for a line. */
export const MAX_SIMULATED_BOARDS = 400

interface Reported {
  readonly served: readonly ServiceObjective[]
  readonly unserved: readonly UnservedService[]
}

/**
 * Write the files of a plan and print it: its parts, what each service stands, and the files, or all of it as JSON.
 *
 * @param limits of the services, where they were simulated
 * @param files contents by path, the map first
 * @param parts in the order in which they are printed; `limits` stands for those
 * @returns the exit code
 */
export function reportPlan(
  plan: Reported,
  limits: readonly ServiceLimit[] | null,
  files: Readonly<Record<string, string>>,
  parts: readonly (string | 'limits')[],
  { json, strict }: { readonly json?: boolean; readonly strict?: boolean },
  terminal: Terminal,
): number {
  for (const [file, content] of Object.entries(files)) writeFileAtomically(file, content)
  const written = Object.keys(files)
  if (json) {
    const known = limits && { limits, breaksFirst: breaksFirst(plan.served, limits) }
    terminal.stdout.write(`${JSON.stringify({ ...plan, ...known, files: written }, null, 2)}\n`)
  } else {
    const said = parts.flatMap((part) => (part !== 'limits' ? part : limits ? explainLimits(plan.served, limits) : []))
    terminal.stdout.write(`${said.join('\n\n')}\n\nWritten:\n${written.map((file) => `  ${file}\n`).join('')}`)
  }
  for (const { message } of plan.unserved) terminal.stderr.write(`not served: ${message}\n`)
  return strict && plan.unserved.length > 0 ? 1 : 0
}

/** GPUs shown one by one before the rest is only counted. */
const SHOWN_GPUS = 40

/** Services, then GPUs, as tables. */
export function planTables(plan: SegmentPlan, board: MigBoard, gpusPerNode: number, terminal: Terminal): string {
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

/** Two to a line, so that a row fits on a terminal. */
function inLines(list: readonly string[]): string {
  const lines: string[] = []
  for (let i = 0; i < list.length; i += 2) lines.push(list.slice(i, i + 2).join(', '))
  return lines.join(',\n')
}

function shown(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}
