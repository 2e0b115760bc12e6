import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Matches what tsup makes of `import('vega')` in CommonJS chunks, for packages other than this project's. */
const REQUIRED_LATER =
  /Promise\.resolve\(\)\.then\(\(\) => _interopRequireWildcard\(require\(("(?!@pctodl\/|\.)[^"]+")\)\)\)/g

/**
 * Restores `import()` of third-party packages in a package's CommonJS build. tsup replaces it by `require`, which Node 20
 * refuses for ES modules with top-level await. Packages of this project stay required, because `import` would load their
 * ESM build as a second copy.
 *
 * @param dist folder of the build
 */
export function keepDynamicImports(dist: string): void {
  for (const name of readdirSync(dist).filter((each) => each.endsWith('.cjs'))) {
    const file = path.join(dist, name)
    const text = readFileSync(file, 'utf8')
    const kept = text.replace(REQUIRED_LATER, 'import($1)')
    if (kept !== text) writeFileSync(file, kept)
  }
}
