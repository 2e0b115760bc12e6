import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { shippedParameters } from '@pctodl/perf-model'
import { parameterFile } from '@pctodl/perf-model/node'
import { InvalidInputError } from '@pctodl/platform'
import type { RunSummary } from '@pctodl/report'
import { z } from 'zod'
import type { Cell } from './cell.js'

/** Version of the manifest's layout. Manifests of other versions are rejected. */
export const MANIFEST_VERSION = 1

/**
 * Origin of a result, and the hashes that prove its files complete. The manifest is written last: a result without one
 * is unfinished.
 */
export interface Manifest {
  readonly manifestVersion: typeof MANIFEST_VERSION
  readonly cell: Cell
  /**
   * Everything besides the cell that affects the result. A resumed matrix reruns each cell whose result was made with
   * other values.
   */
  readonly madeBy: MadeBy
  readonly board: BoardIdentity
  /** Time by the run's clock; on a simulated board this is virtual time. */
  readonly startedAt: string
  /** SHA-256 of each file, by its name beside the manifest. */
  readonly files: Readonly<Record<string, string>>
  readonly summary: RunSummary
}

export interface MadeBy {
  /** Version of this package. */
  readonly benchRunner: string
  /** SHA-256 of the predictor's parameters for the board. */
  readonly predictorParameters: string
}

export interface BoardIdentity {
  readonly name: string
  readonly uuid: string
  readonly driverVersion: string
  /** Kind of the tenants, and the inputs that they process. */
  readonly tenants: string
  /** Name in the ensemble of simulated boards, and a description of its differences from the shipped board. */
  readonly variant?: string
  readonly differs?: string
}

/** Fields that are needed for reading. The report checks the other fields that it uses. */
const manifestSchema = z.object({
  manifestVersion: z.literal(MANIFEST_VERSION),
  cell: z.object({
    task: z.object({ id: z.number(), board: z.string() }).loose(),
    algorithm: z.string(),
    seed: z.number(),
    iterations: z.number(),
    powerMarginW: z.number(),
    shadow: z.boolean(),
  }),
  madeBy: z.object({ benchRunner: z.string(), predictorParameters: z.string() }),
  board: z.object({ name: z.string(), uuid: z.string(), driverVersion: z.string(), tenants: z.string() }),
  startedAt: z.string(),
  files: z.record(z.string(), z.string()),
  summary: z
    .object({ algorithm: z.string(), throughput: z.number(), verdict: z.object({ status: z.string() }).loose() })
    .loose(),
})

/** @throws InvalidInputError naming the file and the field that is not as it should be */
export function parseManifest(text: string, file: string): Manifest {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new InvalidInputError(file, text.slice(0, 40), 'a manifest in JSON', { cause: error })
  }
  const parsed = manifestSchema.safeParse(json)
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!
    throw new InvalidInputError(`${file}: ${path.join('.')}`, message, `a manifest of version ${MANIFEST_VERSION}`)
  }
  return json as Manifest
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

const known = new Map<string, MadeBy>()

/** Returns everything besides the cell itself that affects its results. */
export function madeBy({ task: { board }, parametersFolder }: Pick<Cell, 'task' | 'parametersFolder'>): MadeBy {
  const key = `${board}\n${parametersFolder ?? ''}`
  let made = known.get(key)
  if (!made) {
    const parameters =
      parametersFolder === undefined
        ? JSON.stringify(shippedParameters[board])
        : readFileSync(parameterFile(parametersFolder, board), 'utf8')
    made = { benchRunner: packageVersion(), predictorParameters: sha256(parameters) }
    known.set(key, made)
  }
  return made
}

function packageVersion(): string {
  // The CommonJS build has `__filename` and no `import.meta.url`; the ESM build has the opposite.
  const require = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
  return require('../package.json').version
}
