import { stringify } from 'yaml'
import { instancesOf, type MappedBoard } from '../map/fleet-map.js'

/**
 * Returns the configuration for NVIDIA's mig-parted, which the GPU operator's MIG manager uses: an entry
 * `pctodl-<board>-node-<n>` for each node, and `all-disabled`, which the manager applies when a node's label is
 * removed. mig-parted chooses start slots itself. GPUs without instances are left out, so they stay as they are.
 */
export function formatMigParted(boards: readonly MappedBoard[]): string {
  const configs: Record<string, object[]> = { 'all-disabled': [{ devices: 'all', 'mig-enabled': false }] }
  /** Indices of the GPUs of a node with the same instances. */
  const alike = new Map<string, number[]>()
  for (const { gpu, node, index, segments } of boards) {
    if (segments.length === 0) continue
    const counts: Record<string, number> = {}
    const profiles = instancesOf(segments).map(({ profile }) => profile)
    for (const profile of profiles.sort()) counts[profile] = (counts[profile] ?? 0) + 1
    const name = migConfigName(gpu, node)
    const key = `${name} ${JSON.stringify(counts)}`
    const devices = alike.get(key) ?? []
    devices.push(index)
    if (devices.length > 1) continue
    alike.set(key, devices)
    configs[name] = [...(configs[name] ?? []), { devices, 'mig-enabled': true, 'mig-devices': counts }]
  }
  return stringify(
    { version: 'v1', 'mig-configs': configs },
    { flowCollectionPadding: false, aliasDuplicateObjects: false },
  )
}

/** Returns the name of a node of a map. Manifests use it unless `nodeNames` gives another name. */
export function nodeName(gpu: string, node: number): string {
  return `${gpu.toLowerCase()}-node-${node}`
}

/** Name of a node's entry. */
export function migConfigName(gpu: string, node: number): string {
  return `pctodl-${nodeName(gpu, node)}`
}
