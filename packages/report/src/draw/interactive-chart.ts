import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { TopLevelSpec } from 'vega-lite'

/** The chart in vega's own language, as `vega.parse` takes it in a page: plain JSON. */
export async function compileChart(spec: TopLevelSpec): Promise<object> {
  const vegaLite = await import('vega-lite')
  return vegaLite.compile(spec).spec
}

/** The text of the vega library for a page that must work without a network: put it into a `<script>`. About 0.5 MB. */
export function vegaForBrowsers(): string {
  const require = createRequire(typeof __filename === 'string' ? __filename : import.meta.url)
  // Of vega's files only its entry and its schema can be named from outside; the bundle lies beside the schema.
  const bundle = path.join(path.dirname(require.resolve('vega/vega-schema.json')), 'vega.min.js')
  // A closing tag inside a string of the library would end the element early.
  return readFileSync(bundle, 'utf8').replaceAll('</script', '<\\/script')
}
