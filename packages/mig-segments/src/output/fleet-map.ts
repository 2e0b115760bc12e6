import { stringify } from 'yaml'
import type { FleetBoard } from '../fleet/place-fleet.js'
import { ALL_DISABLED, type MigPartedConfig, type MigPartedEntry } from './mig-parted.js'

/** Columns of the map of a fleet. Nodes and GPUs count from 0 within boards of one type. */
export const fleetMapColumns = [
  'Board',
  'Node',
  'GPU',
  'Profile',
  'Placement',
  'Model',
  'Batch size',
  'Num proc',
] as const

export function formatFleetMap(boards: readonly FleetBoard[]): string {
  const lines = boards.flatMap(({ gpu, node, index, segments }) =>
    segments.map(({ profile, start, model, batchSize, processes }) =>
      [gpu, node, index, profile, start, model, batchSize, processes].join(','),
    ),
  )
  return `${[fleetMapColumns.join(','), ...lines].join('\n')}\n`
}

/** A configuration for mig-parted with an entry for each node, `pctodl-<board>-node-<n>`, and `all-disabled`. */
export function formatFleetMigParted(boards: readonly FleetBoard[]): string {
  const configs: Record<string, MigPartedEntry[]> = { [ALL_DISABLED]: [{ devices: 'all', 'mig-enabled': false }] }
  for (const { gpu, node, index, segments } of boards) {
    const devices: Record<string, number> = {}
    for (const { profile } of segments) devices[profile] = (devices[profile] ?? 0) + 1
    const name = `pctodl-${gpu.toLowerCase()}-node-${node}`
    configs[name] = [...(configs[name] ?? []), { devices: [index], 'mig-enabled': true, 'mig-devices': devices }]
  }
  const config: MigPartedConfig = { version: 'v1', 'mig-configs': configs }
  return stringify(config, { flowCollectionPadding: false })
}
