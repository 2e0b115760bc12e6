import { stringify } from 'yaml'
import { DEFAULT_GPUS_PER_NODE, type MappedGpu } from '../map/deployment-map.js'
import type { MigBoard, SegmentSize } from '../mig-geometry.js'
import { segmentSizes } from '../mig-geometry.js'

/** One entry of a mig-parted configuration: boards that are split alike. */
export interface MigPartedEntry {
  readonly devices: readonly number[] | 'all'
  readonly 'mig-enabled': boolean
  /** Profile name -> how many. mig-parted chooses the starts itself. */
  readonly 'mig-devices'?: Readonly<Record<string, number>>
}

/** The entry that takes a node's instances away: the MIG manager of the GPU operator sets it where a node's label goes. */
export const ALL_DISABLED = 'all-disabled'

export interface MigPartedConfig {
  readonly version: 'v1'
  readonly 'mig-configs': Readonly<Record<string, readonly MigPartedEntry[]>>
}

/** Name of a node's entry in a mig-parted configuration. */
export function migConfigName(node: number): string {
  return `pctodl-node-${node}`
}

/**
 * Desired state for NVIDIA's mig-parted, and so for the MIG manager of the GPU operator: one configuration for each node, and
 * `all-disabled`. GPUs
 * without segments are not named, and mig-parted leaves them as they are.
 */
export function migPartedConfig(
  gpus: readonly MappedGpu[],
  board: MigBoard,
  gpusPerNode: number = DEFAULT_GPUS_PER_NODE,
): MigPartedConfig {
  const configs: Record<string, MigPartedEntry[]> = { [ALL_DISABLED]: [{ devices: 'all', 'mig-enabled': false }] }
  for (const [node, ofNode] of byNode(gpus, gpusPerNode)) {
    const alike = new Map<string, { devices: number[]; 'mig-devices': Record<string, number> }>()
    for (const { index, segments } of ofNode) {
      const profiles = countProfiles(
        segments.map(({ sizeGpcs }) => sizeGpcs),
        board,
      )
      const key = JSON.stringify(profiles)
      const entry = alike.get(key) ?? { devices: [], 'mig-devices': profiles }
      entry.devices.push(index % gpusPerNode)
      alike.set(key, entry)
    }
    configs[migConfigName(node)] = [...alike.values()].map((entry) => ({
      devices: entry.devices,
      'mig-enabled': true,
      'mig-devices': entry['mig-devices'],
    }))
  }
  return { version: 'v1', 'mig-configs': configs }
}

export function formatMigParted(config: MigPartedConfig): string {
  return stringify(config, { flowCollectionPadding: false })
}

/** GPUs with segments, by node. */
export function byNode<T extends MappedGpu>(gpus: readonly T[], gpusPerNode: number): Map<number, T[]> {
  const nodes = new Map<number, T[]>()
  for (const gpu of gpus) {
    if (gpu.segments.length === 0) continue
    const node = Math.floor(gpu.index / gpusPerNode)
    nodes.set(node, [...(nodes.get(node) ?? []), gpu])
  }
  return nodes
}

function countProfiles(sizes: readonly SegmentSize[], board: MigBoard): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const size of segmentSizes) {
    const count = sizes.filter((other) => other === size).length
    if (count > 0) counts[board.profileNames[size]] = count
  }
  return counts
}
