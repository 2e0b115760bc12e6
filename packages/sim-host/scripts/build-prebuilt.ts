/**
 * The libraries that come with the package, so that nobody who installs it needs a compiler: `pnpm prebuilt`, and before it is packed.
 *
 * `cc` builds for this machine, `aarch64-linux-gnu-gcc` and `x86_64-linux-gnu-gcc` (Debian: gcc-aarch64-linux-gnu, gcc-x86-64-linux-gnu)
 * for the other. What no compiler is there for is left out and said; with `--all` that is an error, as for a release. What is there
 * already, of the same sources, is kept.
 */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileLibrary, PREBUILT_HASH_FILE, prebuiltPath, sourcesHash } from '../src/native-library.js'

const packageFolder = fileURLToPath(new URL('..', import.meta.url))
const sourceFolder = join(packageFolder, 'native')
const prebuilt = join(packageFolder, 'prebuilt')
const compilers: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-linux-gnu-gcc',
  'linux-arm64': 'aarch64-linux-gnu-gcc',
}

const hash = sourcesHash(sourceFolder)
const hashFile = join(prebuilt, PREBUILT_HASH_FILE)
if (!existsSync(hashFile) || readFileSync(hashFile, 'utf8').trim() !== hash)
  rmSync(prebuilt, { recursive: true, force: true })
mkdirSync(prebuilt, { recursive: true })
const missing: string[] = []
const scratch = mkdtempSync(join(tmpdir(), 'pctodl-prebuilt-'))
try {
  for (const [platform, cross] of Object.entries(compilers)) {
    const library = prebuiltPath(prebuilt, platform)
    if (existsSync(library)) continue
    const compiler = platform === `linux-${process.arch}` ? process.env['CC'] || 'cc' : cross
    if (spawnSync(compiler, ['--version']).status !== 0) {
      missing.push(`${platform} (no ${compiler})`)
      continue
    }
    const output = join(scratch, 'libnvidia-ml.so.1')
    compileLibrary({ sourceFolder, compiler, output })
    // Symbols of the compiler's own would be half of it.
    spawnSync(compiler.replace(/gcc$|^cc$/, 'strip'), ['--strip-unneeded', output])
    mkdirSync(dirname(library), { recursive: true })
    copyFileSync(output, `${library}.new`)
    renameSync(`${library}.new`, library)
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
writeFileSync(hashFile, `${hash}\n`)
if (missing.length > 0) process.stderr.write(`not built: ${missing.join(', ')}; they are compiled at first use there\n`)
if (missing.length > 0 && process.argv.includes('--all')) process.exitCode = 1
