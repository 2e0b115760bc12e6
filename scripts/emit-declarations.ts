/**
 * Writes the declarations of one package beside its bundled code. Every file that an entry reaches gets a `.d.ts` and a
 * `.d.cts`, so that both `import` and `require` find types in their module format.
 *
 * With `isolatedDeclarations`, the declaration of a file depends only on that file. Nothing is resolved or checked
 * here, so the script takes a fraction of a second; `pnpm typecheck` checks the whole repository.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/**
 * Matches imports of files of the same package in declarations: `from './model/fit.js'`, `import('./model/fit.js')`.
 */
const RELATIVE_IMPORT = /(\bfrom |\bimport\(|\bimport )(['"])(\.{1,2}\/[^'"]*)\.js\2/g

/**
 * @param folder folder of the package. Its code must be built; its sources are in `src/`
 * @throws Error if a declaration cannot be written from its file alone, or an entry has none
 */
export function emitDeclarations(folder: string): void {
  const dist = path.join(folder, 'dist')
  const emitted = path.join(dist, '.declarations')
  try {
    runCompiler(folder, emitted)
    for (const name of reachable(emitted, entriesOf(folder))) {
      const text = readFileSync(path.join(emitted, `${name}.d.ts`), 'utf8')
      const file = path.join(dist, name)
      mkdirSync(path.dirname(file), { recursive: true })
      writeFileSync(`${file}.d.ts`, text)
      writeFileSync(`${file}.d.cts`, text.replace(RELATIVE_IMPORT, '$1$2$3.cjs$2'))
    }
  } finally {
    rmSync(emitted, { recursive: true, force: true })
  }
}

function runCompiler(folder: string, outDir: string): void {
  const switches = ['--noEmit', 'false', '--emitDeclarationOnly', '--noCheck', '--noResolve', '--types', '']
  const places = ['-p', path.join(folder, 'tsconfig.json'), '--rootDir', path.join(folder, 'src'), '--outDir', outDir]
  try {
    execFileSync(compilerFor(folder), [...places, ...switches], { encoding: 'utf8' })
  } catch (error) {
    throw new Error(`no declarations of ${folder}:\n${(error as { stdout?: string }).stdout ?? error}`)
  }
}

/**
 * Path of the native compiler. Its JavaScript wrapper would only start it, and takes as long as the compiler itself.
 */
function compilerFor(folder: string): string {
  const wrapper = createRequire(path.join(folder, 'package.json')).resolve('typescript-native/package.json')
  const platform = `@typescript/typescript-${process.platform}-${process.arch}/package.json`
  const manifest = createRequire(wrapper).resolve(platform)
  return path.join(path.dirname(manifest), 'lib', process.platform === 'win32' ? 'tsc.exe' : 'tsc')
}

/** Names of the declaration files in the package's exports, e.g. `index` for `./dist/index.d.ts`. */
function entriesOf(folder: string): string[] {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  const types = JSON.stringify(manifest.exports).matchAll(/"types":"\.\/dist\/([^"]+)\.d\.ts"/g)
  return [...types].map(([, name]) => name!)
}

/** The entries and all emitted files that they import. */
function reachable(emitted: string, entries: readonly string[]): Set<string> {
  const found = new Set<string>()
  const waiting = [...entries]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    found.add(name)
    const text = readFileSync(path.join(emitted, `${name}.d.ts`), 'utf8')
    for (const [, , , specifier] of text.matchAll(RELATIVE_IMPORT)) {
      waiting.push(path.posix.join(path.posix.dirname(name), specifier!))
    }
  }
  return found
}
