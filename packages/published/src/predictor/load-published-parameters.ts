import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { ParameterFileError } from '@pctodl/perf-model/node'
import { reasonOf } from '@pctodl/platform'
import type { z } from 'zod'
import { PublishedParameters, type PublishedSet } from './published-parameters.js'
import type { PublishedEnsembles } from './published-predictor.js'
import { closedFormSchema, ensembleFileSchema, indexSchema } from './published-schemas.js'
import { TreeEnsemble } from './tree-ensemble.js'

/** Number of features that the Python code's predictor passes to each ensemble. */
const featureCounts = { sm: 13, mem: 11, throughput: 14, power: 8 } as const

/**
 * Reads the Python code's parameters from a folder that `pctodl published import` wrote. `index.json` lists the sets,
 * `params/*.json` contain the closed forms and `gbr/*.json.gz` the tree ensembles. Each file is validated when it is
 * read; an ensemble is read on first use.
 *
 * @throws ParameterFileError naming the file, and the field if its content is invalid
 */
export function loadPublishedParameters(folder: string): PublishedParameters {
  const index = readJson(path.join(folder, 'index.json'), indexSchema)
  return new PublishedParameters(
    index.map(({ model, dataset, platform, mem_freq_mhz: memClockMhz, params, gbr }): PublishedSet => {
      let ensembles: PublishedEnsembles | undefined
      return {
        id: { model, dataset, platform, memClockMhz },
        closedForms: readJson(path.join(folder, params), closedFormSchema),
        ensembles: () => {
          ensembles ??= readEnsembles(path.join(folder, gbr))
          return ensembles
        },
      }
    }),
  )
}

function readEnsembles(file: string): PublishedEnsembles {
  const { ensembles } = readJson(file, ensembleFileSchema)
  const build = (kind: keyof typeof featureCounts): TreeEnsemble => {
    const found = ensembles[kind].n_features
    if (found !== featureCounts[kind]) {
      throw new ParameterFileError(file, `ensembles.${kind}.n_features: got ${found}, expected ${featureCounts[kind]}`)
    }
    try {
      return new TreeEnsemble(ensembles[kind], `ensembles.${kind}`)
    } catch (cause) {
      throw new ParameterFileError(file, (cause as Error).message, { cause })
    }
  }
  return { sm: build('sm'), mem: build('mem'), throughput: build('throughput'), power: build('power') }
}

function readJson<T>(file: string, schema: z.ZodType<T>): T {
  let json: unknown
  try {
    const bytes = readFileSync(file)
    json = JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'))
  } catch (cause) {
    const reason = reasonOf(cause)
    throw new ParameterFileError(file, `cannot be read: ${reason}`, { cause })
  }
  const result = schema.safeParse(json)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw new ParameterFileError(file, `${issue.path.join('.') || 'content'}: ${issue.message}`, { cause: result.error })
}
