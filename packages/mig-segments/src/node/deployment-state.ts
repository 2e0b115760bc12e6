import { existsSync, readFileSync, statSync } from 'node:fs'
import { writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'

/**
 * A segment that is deployed on this node. Models that share an instance are one segment each, with a common MPS
 * daemon.
 */
export interface DeployedSegment {
  /** Index of the GPU on this node. */
  readonly gpu: number
  readonly start: number
  /** Name of its MIG profile. */
  readonly profile: string
  /** SM clock at which the segment's board was locked, MHz. */
  readonly smClockMhz?: number | undefined
  readonly model: string
  readonly batchSize: number
  readonly processes: number
  /** Id of the GPU instance, as listed by `nvidia-smi mig -lgi`. */
  readonly instanceId: number
  /** UUID of the MIG device, for `CUDA_VISIBLE_DEVICES`. */
  readonly uuid: string
  /** Folder of its MPS daemon. */
  readonly mpsDirectory: string
  readonly workers: { pid: number; startTime: number }[]
}

const deployedSegment = z.strictObject({
  gpu: z.int().min(0),
  start: z.int().min(0).max(6),
  profile: z.string().min(1),
  smClockMhz: z.int().min(1).optional(),
  model: z.string().min(1),
  batchSize: z.int().min(1),
  processes: z.int().min(1),
  instanceId: z.int().min(0),
  uuid: z.string().min(1),
  mpsDirectory: z.string().min(1),
  workers: z.array(z.strictObject({ pid: z.int().min(1), startTime: z.number() })),
})

const stateFile = z.strictObject({
  format: z.literal('pctodl-segments-deployment'),
  version: z.literal(1),
  segments: z.array(deployedSegment),
})

/**
 * Reads which segments the last deployment recorded on this node.
 *
 * @throws PctodlError `DEPLOYMENT_STATE` for an invalid file, and for a file of another user, because it determines
 *   which processes are ended
 */
export function readDeployment(file: string): DeployedSegment[] {
  if (!existsSync(file)) return []
  const { uid } = statSync(file)
  if (uid !== process.geteuid?.()) {
    throw new PctodlError(
      'DEPLOYMENT_STATE',
      `${file} belongs to user ${uid}; deploy as that user, or name another folder`,
    )
  }
  try {
    return stateFile.parse(JSON.parse(readFileSync(file, 'utf8'))).segments
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new PctodlError(
      'DEPLOYMENT_STATE',
      `${file} does not describe a deployment (${reason}); tear down by hand what runs, then remove it`,
      { cause },
    )
  }
}

export function writeDeployment(file: string, segments: readonly DeployedSegment[]): void {
  const content = { format: 'pctodl-segments-deployment', version: 1, segments }
  writeFileAtomically(file, `${JSON.stringify(content, null, 2)}\n`)
}
