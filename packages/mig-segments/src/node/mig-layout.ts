import { execFile } from 'node:child_process'
import { PctodlError } from '@pctodl/platform'
import type { MappedFleetSegment } from '../map/fleet-map.js'

interface ExistingInstance extends Pick<MappedFleetSegment, 'profile' | 'start'> {
  readonly gpu: number
  readonly instanceId: number
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

/** @throws PctodlError `NO_SMI` if `nvidia-smi` is missing, `SMI_FAILED` with its output if it fails */
export function smi(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('nvidia-smi', [...args], { env: { ...process.env, LC_ALL: 'C' } }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout)
      // EACCES occurs if the search path contains a folder that this user may not enter.
      if (error.code === 'ENOENT' || error.code === 'EACCES') {
        return reject(new PctodlError('NO_SMI', 'nvidia-smi is not on PATH; it comes with the NVIDIA driver'))
      }
      const said = `${stdout}${stderr}`.trim().split('\n').join(' ')
      reject(new PctodlError('SMI_FAILED', `nvidia-smi ${args.join(' ')} ended with ${error.code}: ${said}`))
    })
  })
}

/** Runs `nvidia-smi`, which fails if there is nothing to list or to remove. Returns an empty text in that case. */
export async function smiUnless(nothing: RegExp, args: readonly string[]): Promise<string> {
  try {
    return await smi(args)
  } catch (error) {
    if (error instanceof PctodlError && nothing.test(error.message)) return ''
    throw error
  }
}

export const gpuListQuery = ['--query-gpu=index,uuid,mig.mode.current,name', '--format=csv,noheader'] as const

export async function readGpus(): Promise<NodeGpu[]> {
  return parseGpuList(await smi(gpuListQuery))
}

export async function readLayout(): Promise<NodeLayout> {
  const gpus = await readGpus()
  const lists: string[] = []
  for (const { index, migEnabled } of gpus) {
    if (migEnabled) lists.push(await smiUnless(/No GPU instances found/i, ['mig', '-lgi', '-i', String(index)]))
  }
  return { gpus, instances: lists.flatMap(parseInstanceList) }
}

/** @throws PctodlError `SMI_OUTPUT` for output in another format */
export function parseGpuList(text: string): NodeGpu[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => {
    const [index, uuid, mode, ...name] = line.split(',').map((cell) => cell.trim())
    if (!/^\d+$/.test(index ?? '') || uuid === undefined || mode === undefined || name.length === 0) {
      throw new PctodlError('SMI_OUTPUT', `nvidia-smi listed a GPU as '${line}'; expected index, UUID, MIG mode, name`)
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

/** @throws PctodlError `MIXED_BOARDS` if the names of a node's GPUs differ, `NO_GPU` if it has none */
export function productOfNode(gpus: readonly NodeGpu[]): string {
  const [name, ...others] = new Set(gpus.map((gpu) => gpu.name))
  if (name === undefined) throw new PctodlError('NO_GPU', 'nvidia-smi lists no GPU on this machine')
  if (others.length === 0) return name
  const names = [name, ...others].join(', ')
  throw new PctodlError('MIXED_BOARDS', `this node has unlike GPUs (${names}); name one with --gpu`)
}
