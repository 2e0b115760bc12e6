import { PctodlError } from '@pctodl/platform'

/** A GPU instance that exists on the node. */
export interface ExistingInstance {
  readonly gpu: number
  readonly instanceId: number
  /** Name of its profile, e.g. `3g.40gb`. */
  readonly profile: string
  /** First memory slice. */
  readonly start: number
}

export interface NodeGpu {
  readonly index: number
  readonly uuid: string
  readonly name: string
  readonly migEnabled: boolean
}

/** The GPUs and MIG instances of a node, as `nvidia-smi` reports them. */
export interface NodeLayout {
  readonly gpus: readonly NodeGpu[]
  readonly instances: readonly ExistingInstance[]
}

/** Arguments of the `nvidia-smi` call whose output `parseGpuList` reads. */
export const gpuListQuery = ['--query-gpu=index,uuid,mig.mode.current,name', '--format=csv,noheader'] as const

/**
 * Parses the list of GPUs.
 * @throws PctodlError `SMI_OUTPUT` for output in another format
 */
export function parseGpuList(text: string): NodeGpu[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [index, uuid, mode, ...name] = line.split(',').map((cell) => cell.trim())
      if (!/^\d+$/.test(index ?? '') || uuid === undefined || mode === undefined || name.length === 0) {
        throw new PctodlError(
          'SMI_OUTPUT',
          `nvidia-smi listed a GPU as '${line}'; expected index, UUID, MIG mode, name`,
        )
      }
      return { index: Number(index), uuid, name: name.join(', '), migEnabled: mode === 'Enabled' }
    })
}

/** Parses the rows of `nvidia-smi mig -lgi`: GPU, profile name, profile id, instance id, start and size. */
export function parseInstanceList(text: string): ExistingInstance[] {
  const rows = text.matchAll(/^\|\s*(\d+)\s+MIG\s+(\S+)\s+\d+\s+(\d+)\s+(\d+):\d+\s*\|/gm)
  return [...rows].map(([, gpu, profile, instanceId, start]) => ({
    gpu: Number(gpu),
    profile: profile!,
    instanceId: Number(instanceId),
    start: Number(start),
  }))
}

/**
 * Returns the product name of a node's GPUs, which must be the same for all.
 *
 * @throws PctodlError `MIXED_BOARDS` if the names differ, `NO_GPU` if the node has no GPU
 */
export function productOfNode(gpus: readonly NodeGpu[]): string {
  const names = [...new Set(gpus.map(({ name }) => name))]
  if (names.length === 0) throw new PctodlError('NO_GPU', 'nvidia-smi lists no GPU on this machine')
  if (names.length > 1) {
    throw new PctodlError('MIXED_BOARDS', `this node has unlike GPUs (${names.join(', ')}); name one with --gpu`)
  }
  return names[0]!
}
