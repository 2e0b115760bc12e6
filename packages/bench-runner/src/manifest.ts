import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readJson } from '@pctodl/command-line'
import { shippedParameters } from '@pctodl/perf-model'
import { parameterFile } from '@pctodl/perf-model/node'
import type { RunSummary } from '@pctodl/report'
import { z } from 'zod'
import { version } from '../package.json'
import type { Cell } from './cell.js'
import { oncePerCall } from './once-per-call.js'

/** Version of the manifest's layout. Manifests of other versions are rejected. */
export const MANIFEST_VERSION = 1

/**
 * Origin of a result, and the hashes that prove its files complete. The manifest is written last: a result without one
 * is unfinished.
 */
export interface Manifest {
  readonly manifestVersion: typeof MANIFEST_VERSION
  readonly cell: Cell
  /** Everything besides the cell that affects the result. If it has changed, a resumed matrix runs the cell again. */
  readonly madeBy: {
    /** Version of this package. */
    readonly benchRunner: string
    /** SHA-256 of the predictor's parameters for the board. */
    readonly predictorParameters: string
  }
  readonly board: {
    readonly name: string
    readonly uuid: string
    readonly driverVersion: string
    /** Kind of the tenants, and the inputs that they process. */
    readonly tenants: string
    /** Name in the ensemble of simulated boards, and a description of its differences from the shipped board. */
    readonly variant?: string
    readonly differs?: string
  }
  /** Time by the run's clock; on a simulated board this is virtual time. */
  readonly startedAt: string
  /** SHA-256 of each file, by its name beside the manifest. */
  readonly files: Readonly<Record<string, string>>
  readonly summary: RunSummary
}

/** Fields that are needed for reading. Files of reports are named after the board. */
export const cellSchema: z.ZodType = z.looseObject({
  task: z.looseObject({ id: z.number(), board: z.string().regex(/^\w+$/) }),
  algorithm: z.string(),
  seed: z.number(),
  iterations: z.number(),
})

const manifestSchema = z.looseObject({
  manifestVersion: z.literal(MANIFEST_VERSION),
  cell: cellSchema,
  madeBy: z.object({ benchRunner: z.string(), predictorParameters: z.string() }),
  board: z.object({ name: z.string(), uuid: z.string(), driverVersion: z.string(), tenants: z.string() }),
  files: z.record(z.string(), z.string()),
  summary: z.looseObject({
    algorithm: z.string(),
    throughput: z.number(),
    verdict: z.looseObject({ status: z.string() }),
  }),
})

/** @throws InvalidInputError with the file and the invalid field */
export function readManifest(file: string): Manifest {
  return readJson<Manifest>(manifestSchema, file, `a manifest of version ${MANIFEST_VERSION}`)
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

export function madeBy({
  task: { board },
  parametersFolder,
}: Pick<Cell, 'task' | 'parametersFolder'>): Manifest['madeBy'] {
  return { benchRunner: version, predictorParameters: hashOfParameters(board, parametersFolder) }
}

const hashOfParameters = oncePerCall((board: string, folder: string | undefined) =>
  sha256(
    folder === undefined
      ? JSON.stringify(shippedParameters[board])
      : readFileSync(parameterFile(folder, board), 'utf8'),
  ),
)
