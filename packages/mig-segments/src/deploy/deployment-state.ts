import { existsSync, readFileSync, statSync } from 'node:fs'
import { writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import type { SegmentSize } from '../mig-geometry.js'

const deployedSegment = z.strictObject({
  /** Index on this node. */
  gpu: z.int().min(0),
  start: z.int().min(0).max(6),
  sizeGpcs: z.union([z.literal(1), z.literal(2), z.literal(3), z.literal(4), z.literal(7)]),
  model: z.string().min(1),
  batchSize: z.int().min(1),
  processes: z.int().min(1),
  /** Id of the GPU instance, as `nvidia-smi mig -lgi` lists it. */
  instanceId: z.int().min(0),
  /** Of the MIG device: what `CUDA_VISIBLE_DEVICES` takes. */
  uuid: z.string().min(1),
  /** The place of its MPS daemon. */
  mpsDirectory: z.string().min(1),
  workers: z.array(z.strictObject({ pid: z.int().min(1), startTime: z.number() })),
})

/** A segment as it was brought up on this node. */
export type DeployedSegment = Readonly<z.infer<typeof deployedSegment>> & { readonly sizeGpcs: SegmentSize }

const stateFile = z.strictObject({
  format: z.literal('pctodl-segments-deployment'),
  version: z.literal(1),
  segments: z.array(deployedSegment),
})

/**
 * What runs on this node, as the last deployment wrote it down.
 *
 * @throws PctodlError `DEPLOYMENT_STATE` for a file that is none, or that belongs to another user: it says what is ended
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
