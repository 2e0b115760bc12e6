import { createHash } from 'node:crypto'
import type { Backend } from '@pctodl/backend'
import { jsonText, readJson, writeFileAtomically } from '@pctodl/command-line'
import { PctodlError } from '@pctodl/platform'
import { z } from 'zod'
import { version } from '../../package.json'
import type { ProfilePlan } from '../plan/profile-plan.js'

/** Board, software versions and plan of a trace. */
export interface Manifest {
  readonly version: 1
  readonly tool: string
  readonly node: string
  readonly startedAt: string
  readonly backend: string
  readonly board: {
    readonly key: string
    readonly name: string
    readonly uuid: string
    readonly driverVersion: string
    readonly powerLimitW: number
  }
  /** Description of the inputs that the tenants process. */
  readonly inputs: string
  readonly planSha256: string
  readonly plan: ProfilePlan
}

const identitySchema = z.object({
  version: z.literal(1),
  backend: z.string(),
  board: z.object({ uuid: z.string(), driverVersion: z.string() }),
  inputs: z.string(),
  planSha256: z.string(),
})

/** What two runs must have in common so that one can continue the other. */
function identityOf({ planSha256, backend, board, inputs }: Manifest) {
  return [
    ['plan', planSha256.slice(0, 12)],
    ['backend', backend],
    ['board', board.uuid],
    ['driver', board.driverVersion],
    ['input', inputs],
  ] as const
}

/** @param inputs description of the inputs that the tenants process */
export async function newManifest(backend: Backend, plan: ProfilePlan, inputs: string): Promise<Manifest> {
  const { spec, uuid, driverVersion, powerLimitW } = await backend.gpu.info()
  return {
    version: 1,
    tool: `@pctodl/profiler ${version}`,
    node: process.version,
    startedAt: new Date().toISOString(),
    backend: backend.kind,
    board: { key: spec.key, name: spec.name, uuid, driverVersion, powerLimitW },
    inputs,
    planSha256: createHash('sha256').update(JSON.stringify(plan)).digest('hex'),
    plan,
  }
}

export function writeManifest(file: string, manifest: Manifest): void {
  writeFileAtomically(file, jsonText(manifest))
}

/**
 * Checks that a resumed run has the same board, software and plan as the manifest in a file.
 *
 * @throws InvalidInputError for a file that is not a manifest
 * @throws PctodlError `ANOTHER_RUN` naming the first difference
 */
export function assertSameRun(file: string, wanted: Manifest): void {
  const before = identityOf(readJson<Manifest>(identitySchema, file, 'a manifest that pctodl profile wrote'))
  for (const [i, [what, now]] of identityOf(wanted).entries()) {
    const [, found] = before[i]!
    if (found === now) continue
    throw new PctodlError(
      'ANOTHER_RUN',
      `${file} is of a run with another ${what} (${found}, now ${now}); go on with the same options, or choose another --out`,
    )
  }
}
