import { createRequire } from 'node:module'
import { shippedParameters } from '@pctodl/perf-model'
import { type MadeBy, sha256 } from './manifest.js'

const known = new Map<string, MadeBy>()

/** What decides the results on a board beside the cell itself. */
export function madeBy(board: string): MadeBy {
  let made = known.get(board)
  if (!made) {
    made = { benchRunner: packageVersion(), predictorParameters: sha256(JSON.stringify(shippedParameters[board])) }
    known.set(board, made)
  }
  return made
}

export function packageVersion(): string {
  // The CommonJS build has `__filename` and no `import.meta.url`, the ESM build the other way round.
  const require = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
  return require('../package.json').version
}
