import { stringify } from 'yaml'
import type { MappedBoard } from '../map/fleet-map.js'

/**
 * Returns the configuration for NVIDIA's mig-parted, which the GPU operator's MIG manager uses: an entry
 * `pctodl-<board>-node-<n>` for each node, and `all-disabled`, which the manager applies when a node's label is
 * removed. mig-parted chooses start slots itself. GPUs without instances are left out, so they stay as they are.
 */
export function formatMigParted(boards: readonly MappedBoard[]): string {
  const configs: Record<string, object[]> = { 'all-disabled': [{ devices: 'all', 'mig-enabled': false }] }
  const alike = new Map<string, number[]>()
  for (const { gpu, node, index, segments } of boards) {
    if (segments.length === 0) continue
    const counts: Record<string, number> = {}
    const instances = new Map(segments.map(({ start, profile }) => [start, profile]))
    for (const profile of [...instances.values()].sort()) counts[profile] = (counts[profile] ?? 0) + 1
    const name = migConfigName(gpu, node)
    const key = `${name} ${JSON.stringify(counts)}`
    const devices = alike.get(key)
    if (devices) {
      devices.push(index)
      continue
    }
    alike.set(key, [index])
    configs[name] = [...(configs[name] ?? []), { devices: alike.get(key)!, 'mig-enabled': true, 'mig-devices': counts }]
  }
  return stringify(
    { version: 'v1', 'mig-configs': configs },
    { flowCollectionPadding: false, aliasDuplicateObjects: false },
  )
}

/** Name of a node's entry. */
export function migConfigName(gpu: string, node: number): string {
  return `pctodl-${gpu.toLowerCase()}-node-${node}`
}
