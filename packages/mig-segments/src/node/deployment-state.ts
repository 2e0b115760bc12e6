import { existsSync, readFileSync, statSync } from 'node:fs'
import { jsonText, writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { firstIssue } from '../check.js'
import type { MappedFleetSegment } from '../map/fleet-map.js'

/** A segment to be deployed. */
export interface TargetSegment extends MappedFleetSegment {
  /** Index of the GPU on this node. */
  readonly gpu: number
  /** SM clock to lock the segment's board at, MHz. If absent, the clock is not changed. */
  readonly smClockMhz?: number | undefined
}

/** A segment that is deployed on this node: one for each model of an instance, with a common MPS daemon. */
export interface DeployedSegment extends TargetSegment {
  /** Id of the GPU instance, as listed by `nvidia-smi mig -lgi`. */
  readonly instanceId: number
  /** UUID of the MIG device, for `CUDA_VISIBLE_DEVICES`. */
  readonly uuid: string
  readonly mpsDirectory: string
  readonly workers: { pid: number; startTime: number }[]
}

const name = z.string().min(1)
const count = z.int().min(1)
const index = z.int().min(0)
const deployedSegment = z.strictObject({
  ...{ gpu: index, start: index.max(6), profile: name, smClockMhz: count.optional() },
  ...{ model: name, batchSize: count, processes: count },
  ...{ instanceId: index, uuid: name, mpsDirectory: name },
  workers: z.array(z.strictObject({ pid: count, startTime: z.number() })),
})
const FORMAT = { format: 'pctodl-segments-deployment', version: 1 } as const
const stateFile = z.strictObject({
  format: z.literal(FORMAT.format),
  version: z.literal(FORMAT.version),
  segments: z.array(deployedSegment),
})

/**
 * Reads which segments the last deployment recorded on this node.
 * @throws PctodlError `DEPLOYMENT_STATE`, also for a file of another user, because it names processes to end
 */
export function readDeployment(file: string): DeployedSegment[] {
  if (!existsSync(file)) return []
  const wrong = (what: string, cause?: unknown) => new PctodlError('DEPLOYMENT_STATE', `${file} ${what}`, { cause })
  const { uid } = statSync(file)
  if (uid !== process.geteuid?.()) throw wrong(`belongs to user ${uid}; deploy as that user, or name another folder`)
  try {
    return stateFile.parse(JSON.parse(readFileSync(file, 'utf8'))).segments
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? firstIssue(cause) : (cause as Error).message
    throw wrong(`does not describe a deployment (${reason}); tear down by hand what runs, then remove it`, cause)
  }
}

export function writeDeployment(file: string, segments: readonly DeployedSegment[]): void {
  writeFileAtomically(file, jsonText({ ...FORMAT, segments }))
}
