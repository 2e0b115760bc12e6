import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'

export const packageFolder: string = path.resolve(import.meta.dirname, '..')

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

export interface ReferenceSource {
  readonly title: string
  /** Where the source was published, with the commit. */
  readonly origin: string
  /** Licence of the source. With `none`, only the figures needed for comparisons are kept. */
  readonly licence: 'Apache-2.0' | 'MIT' | 'CC-BY-4.0' | 'none'
  readonly notice: string
}

export interface ReferenceFile {
  /** Path below `files/`, without `.br`. */
  readonly name: string
  /** A key of `referenceSources`. */
  readonly source: string
  /** Hash of the content as tests read it. */
  readonly sha256: string
  /** The file from which this one was made. */
  readonly original: { readonly name: string; readonly sha256: string }
  /** Description of what was removed and by which rule; null if the content is the original. */
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

/** Sources that measured or computed the figures, by their key in `ReferenceFile.source`. */
export const referenceSources: Readonly<Record<string, ReferenceSource>> = z
  .record(z.string(), sourceSchema)
  .parse(read('sources.json'))

/** Every file of the package, with its source, hash and the changes to the original. */
export const referenceFiles: readonly ReferenceFile[] = z.array(fileSchema).parse(read('manifest.json'))
