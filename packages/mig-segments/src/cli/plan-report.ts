import path from 'node:path'
import { type Terminal, writeFileAtomically } from '@pctodl/command-line'
import type { MigBoard } from '@pctodl/mig-deploy'
import { formatDeploymentMap, type MappedGpu } from '@pctodl/mig-deploy'
import Table from 'cli-table3'
import type { SegmentPlan } from '../segment-plan.js'

/** Where the map of a scenario lies, as published: `<output>/SLO<k>/SLO<k>_ParvaGPU_deploy.csv`. */
export function mapFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, `SLO${sloIndex}_ParvaGPU_deploy.csv`)
}

/** Where the map of a fleet lies. */
export function fleetFile(output: string, sloIndex: number): string {
  return path.join(output, `SLO${sloIndex}`, 'fleet.csv')
}

/** Write the map, and beside it the files that were asked for by their names. @returns the paths */
export function writePlanFiles(
  file: string,
  gpus: readonly MappedGpu[],
  gpusPerNode: number,
  beside: Readonly<Record<string, string>> = {},
): string[] {
  writeFileAtomically(file, formatDeploymentMap(gpus, gpusPerNode))
  const others = Object.entries(beside).map(([name, content]) => {
    const other = path.join(path.dirname(file), name)
    writeFileAtomically(other, content)
    return other
  })
  return [file, ...others]
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
