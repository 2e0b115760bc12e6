import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type BuildOptions, build } from 'esbuild'

const site = path.join(import.meta.dirname, 'site')

/** Resolves to the packages' sources: no package has to be built first. */
const common: BuildOptions = {
  bundle: true,
  minify: true,
  write: false,
  format: 'iife',
  target: 'es2022',
  platform: 'browser',
  charset: 'utf8',
  legalComments: 'none',
  conditions: ['@pctodl/source'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
}

/**
 * Write the playground as one file, `index.html`. Scripts are classic and inline, including the worker's program: pages
 * opened as files may load nothing else.
 *
 * @param folder destination
 */
export async function buildPage(folder: string): Promise<void> {
  const worker = await bundled({ ...common, entryPoints: [path.join(site, 'worker.ts')] })
  const script = await bundled({
    ...common,
    entryPoints: [path.join(site, 'page.tsx')],
    plugins: [
      {
        name: 'worker-source',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /worker-source\.txt$/ }, () => ({ path: 'worker', namespace: 'worker-source' }))
          onLoad({ filter: /.*/, namespace: 'worker-source' }, () => ({ contents: worker, loader: 'text' }))
        },
      },
    ],
  })
  const style = await bundled({ ...common, entryPoints: [path.join(site, 'style.css')] })
  // The sequence that ends a script for the HTML parser, inside a string of one.
  const inPage = script.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--').trim()
  const parts: readonly (readonly [place: RegExp, text: string])[] = [
    [/the policy/, policyFor(inPage)],
    [/<link rel="stylesheet" href="style.css" ?\/?>/, `<style>${style.trim()}</style>`],
    [/<script src="page.js"><\/script>/, `<script>${inPage}</script>`],
  ]
  const page = parts.reduce(
    (text, [place, part]) => {
      if (!place.test(text)) throw new Error(`site/index.html has no ${place.source}`)
      return text.replace(place, () => part)
    },
    readFileSync(path.join(site, 'index.html'), 'utf8'),
  )
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'index.html'), page)
}

/** The browser enforces that nothing is sent: this script and its worker run, and no connection is allowed. */
function policyFor(script: string): string {
  const hash = createHash('sha256').update(script).digest('base64')
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'img-src data:',
    "connect-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ')
}

async function bundled(options: BuildOptions): Promise<string> {
  const { outputFiles } = await build(options)
  return outputFiles![0]!.text
}
