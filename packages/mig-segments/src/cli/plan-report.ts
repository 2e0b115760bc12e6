import path from 'node:path'
import { jsonText, type Terminal, writeFileAtomically } from '@pctodl/command-line'
import { groupBy } from '@pctodl/platform'
import Table from 'cli-table3'
import type { FleetPlan, ServedService, UnservedService } from '../fleet/fleet-plan.js'
import type { FleetBoard } from '../fleet/place-fleet.js'
import { instancesOf } from '../map/fleet-map.js'
import { shown } from '../output/explain.js'
import type { FleetReplan } from '../replan/replan-fleet.js'
import { breaksFirst, type ServiceLimit } from '../tail/service-limits.js'

/** Path of the map of a scenario: as ParvaGPU names it, or `fleet.csv` for a fleet. */
export function mapFile(output: string, sloIndex: number, isFleet?: boolean): string {
  const folder = `SLO${sloIndex}`
  return path.join(output, folder, isFleet ? 'fleet.csv' : `${folder}_ParvaGPU_deploy.csv`)
}

/** Name of the map after a step of a change. `deploy --through` takes them by name. */
export function stepName(step: number): string {
  return `step-${String(step + 1).padStart(3, '0')}.csv`
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
  if (json) stdout.write(jsonText({ ...result, files: written }))
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
    const instances = instancesOf(segments).map(({ profile, start, members }) => {
      return `${profile}@${start} ${modelsOf(members)}`
    })
    // Two instances per line, so that a row fits a terminal.
    const separator = (i: number) => (i === 0 ? '' : i % 2 === 0 ? ',\n' : ', ')
    table.push([
      ...[gpu, node, index, ...(clocked ? [smClockMhz ?? ''] : [])],
      ...(measured ? [Number.isNaN(powerW) ? '' : powerW.toFixed(0)] : []),
      instances.map((each, i) => `${separator(i)}${each}`).join(''),
    ])
  }
  const more = boards.length > SHOWN_BOARDS ? `\nand ${boards.length - SHOWN_BOARDS} GPUs more` : ''
  return `${table.toString()}${more}`
}

export function tableOf(head: string[], { stdout }: Terminal): Table.Table {
  return new Table({ head, style: stdout.isTTY ? {} : { head: [], border: [] } })
}

/** The steps of a change, and how many instances are created. */
export function changeOf(plan: FleetReplan): string {
  const { steps, created, restarted, removed, kept, lowerBoundMoves, freshCost, cost } = plan
  const lines = steps.map(({ kind, instance, shortfalls }, i) => {
    const { gpu, node, index, smClockMhz, profile, start, segments } = instance
    const clock = smClockMhz === undefined ? '' : ` at ${smClockMhz} MHz`
    const short = shortfalls.map(
      ({ model, capacity, needed }) =>
        ` (meanwhile ${model} ${capacity.toFixed(0)} of ${needed.toFixed(0)} requests/s)`,
    )
    return `${String(i + 1).padStart(3)}. ${kind} ${gpu} node ${node} GPU ${index}${clock}, ${profile}@${start}: ${modelsOf(segments)}${short.join('')}`
  })
  const moves = created + restarted / 2
  const proof = lowerBoundMoves >= moves ? 'no fewer would do' : `at least ${lowerBoundMoves}, restarts counted half`
  const fewer = freshCost < cost ? `; boards for ${freshCost} would do, see --consolidate` : ''
  const counts = `${kept} instances stay, ${restarted} restart in place, ${created} are created (${proof}), ${removed} removed${fewer}`
  return `${[...lines, ...(lines.length > 0 ? [''] : []), counts].join('\n')}\n`
}

export function fleetSummary(plan: FleetPlan | FleetReplan): string {
  const { boards, cost, lowerBoundCost, powerW, meanPowerW } = plan
  const lowerBoundPowerW = 'lowerBoundPowerW' in plan ? plan.lowerBoundPowerW : 0
  const kinds = [...groupBy(boards, ({ gpu }) => gpu)].map(([gpu, of]) => `${of.length} ${gpu}`).join(', ')
  const gap = cost > 0 ? (cost - lowerBoundCost) / cost : 0
  const proof =
    gap <= 1e-6 ? 'no plan costs less' : `at least ${lowerBoundCost.toPrecision(4)}, gap ${(100 * gap).toFixed(2)} %`
  const least = lowerBoundPowerW > 0 ? `, no plan of that cost below ${lowerBoundPowerW.toFixed(0)} W` : ''
  const watts = Number.isNaN(powerW)
    ? ''
    : `; ${powerW.toFixed(0)} W while everything runs${least}, ${meanPowerW.toFixed(0)} W at these rates`
  return `${kinds || 'no boards'}: cost ${Number(cost.toPrecision(6))} (${proof})${watts}`
}

function modelsOf(segments: FleetBoard['segments']): string {
  return segments.map(({ model, batchSize, processes }) => `${model} ${batchSize}x${processes}`).join(' + ')
}
