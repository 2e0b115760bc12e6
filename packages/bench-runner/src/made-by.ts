import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { shippedParameters } from '@pctodl/perf-model'
import { parameterFile } from '@pctodl/perf-model/node'
import { type MadeBy, sha256 } from './manifest.js'

const known = new Map<string, MadeBy>()

/** What decides the results of a cell beside the cell itself. */
export function madeBy({
  task: { board },
  parametersFolder,
}: {
  readonly task: { readonly board: string }
  readonly parametersFolder?: string
}): MadeBy {
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

export function packageVersion(): string {
  // The CommonJS build has `__filename` and no `import.meta.url`, the ESM build the other way round.
  const require = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
  return require('../package.json').version
}
