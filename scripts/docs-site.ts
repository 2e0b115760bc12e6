/**
 * Builds the docs site in `dist/site`: README, guides and the reference of every package (typedoc). Fails if a link is
 * broken. Run it with `pnpm docs:site`.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { brokenLinks } from './broken-links.js'
import { scriptOptions } from './evaluation/script-options.js'
import { root } from './pack-packages.js'

scriptOptions(import.meta.filename, {})
const site = path.join(root, 'dist', 'site')
rmSync(site, { recursive: true, force: true })
const typedoc = path.join(root, 'node_modules', 'typedoc', 'bin', 'typedoc')
execFileSync(process.execPath, [typedoc, '--out', site, '--logLevel', 'Error'], { cwd: root, stdio: 'inherit' })
const broken = brokenLinks(site)
for (const link of broken) console.error(link)
console.log(broken.length === 0 ? `${site}: every link leads somewhere` : `${broken.length} links lead nowhere`)
process.exitCode = broken.length === 0 ? 0 : 1
