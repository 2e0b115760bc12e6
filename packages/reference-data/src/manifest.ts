import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'

export const packageFolder: string = path.resolve(import.meta.dirname, '..')

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

export interface ReferenceSource {
  readonly title: string
  /** Where it was published, and at which commit. */
  readonly origin: string
  /** Of a source without a licence only the figures are kept that a comparison needs. */
  readonly licence: 'Apache-2.0' | 'MIT' | 'CC-BY-4.0' | 'none'
  readonly notice: string
}

export interface ReferenceFile {
  /** Path below `files/`, without `.br`. */
  readonly name: string
  /** A key of `referenceSources`. */
  readonly source: string
  /** Of the content as tests see it. */
  readonly sha256: string
  /** What it was taken from. */
  readonly original: { readonly name: string; readonly sha256: string }
  /** What was left out and how it was chosen; null where the content is the original. */
  readonly reduced: string | null
  readonly compressed: boolean
}

const sourceSchema: z.ZodType<ReferenceSource> = z.strictObject({
  title: z.string().min(1),
  origin: z.string().min(1),
  licence: z.enum(['Apache-2.0', 'MIT', 'CC-BY-4.0', 'none']),
  notice: z.string().min(1),
})

const fileSchema: z.ZodType<ReferenceFile> = z.strictObject({
  name: z.string().min(1),
  source: z.string().min(1),
  sha256,
  original: z.strictObject({ name: z.string().min(1), sha256 }),
  reduced: z.string().min(1).nullable(),
  compressed: z.boolean(),
})

const read = (name: string): unknown => JSON.parse(readFileSync(path.join(packageFolder, name), 'utf8'))

/** Who measured or computed the figures, by the word that `ReferenceFile.source` uses. */
export const referenceSources: Readonly<Record<string, ReferenceSource>> = z
  .record(z.string(), sourceSchema)
  .parse(read('sources.json'))

/** Every file of the package, with its source, hash and what became of the original. */
export const referenceFiles: readonly ReferenceFile[] = z.array(fileSchema).parse(read('manifest.json'))
