import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { TopLevelSpec } from 'vega-lite'

/** Compiles a chart to a Vega specification in plain JSON, which a page draws with `vega.parse`. */
export async function compileChart(spec: TopLevelSpec): Promise<object> {
  const vegaLite = await import('vega-lite')
  return vegaLite.compile(spec).spec
}

/** Source text of the Vega library, about 0.5 MB, for a `<script>` in a page that must work offline. */
export function vegaForBrowsers(): string {
  const require = createRequire(import.meta.url)
  // Vega's package exports only its entry and its schema. The browser bundle is in the schema's folder.
  const bundle = path.join(path.dirname(require.resolve('vega/vega-schema.json')), 'vega.min.js')
  // A closing tag inside a string of the library would end the `<script>` element.
  return readFileSync(bundle, 'utf8').replaceAll('</script', '<\\/script')
}
