import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { build as bundleProgram } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { workspacePackages } from '../scripts/pack-packages.js'
import { javaScriptOf, readmeExamples } from '../scripts/readme-examples.js'
import { browserCores } from './browser-cores.js'
import { exampleCalls, examplesOnHost, needsHost } from './example-calls.js'
import { longTests, someOf } from './long-tests.js'
import { entryPoints, missingRegistry, type PackedProject, packedProject } from './packed-project.js'

const browser = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const missingCompiler =
  spawnSync(process.env['CC'] || 'cc', ['--version']).status === 0 ? undefined : 'no C compiler on this machine'
/** Packing and installing each take minutes on a machine that is busy with ten times as much as it can do, and all is right. */
const INSTALLED_WITHIN_MS = 1_200_000
/** No dependency of the repository: who clones it shall not wait for what one test needs. */
const WEBPACK = 'webpack@5.112.2'
/** Each week the compiler that most have; the native one takes a fifth of its time. */
const compiler = longTests ? 'typescript' : 'typescript-native'
const why = (reason: string | undefined) => (reason === undefined ? '' : ` (skipped: ${reason})`)

describe.skipIf(missingRegistry)(`a newcomer who installs what is published${why(missingRegistry)}`, () => {
  let project: PackedProject
  const examples = readmeExamples()

  beforeAll(() => {
    project = packedProject()
    for (const [name, example] of examples) {
      project.write(`examples/${name}.mts`, example)
      project.write(`examples/${name}.mjs`, javaScriptOf(example))
    }
  }, INSTALLED_WITHIN_MS)
  afterAll(() => project?.remove())

  it('gets the packages themselves, without sources or anything of the workspace', () => {
    for (const { name } of workspacePackages()) {
      const folder = path.join(project.folder, 'node_modules', name)
      expect(existsSync(path.join(folder, 'README.md')), name).toBe(true)
      expect(existsSync(path.join(folder, 'src')), name).toBe(false)
      expect(existsSync(path.join(folder, 'node_modules', '@pctodl')), `${name} brings a second copy`).toBe(false)
    }
  })

  // `browser-bundles.test.ts` has esbuild and the cores of the workspace.
  const bundlers = someOf(['esbuild, vite and webpack'])
  it.each(bundlers)('bundles every core for a page, with %s', { timeout: INSTALLED_WITHIN_MS }, async () => {
    project.run(
      'npm',
      'install',
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--loglevel=error',
      WEBPACK,
    )
    const failed: string[] = []
    for (const [i, core] of browserCores.entries()) {
      const entry = `bundled/${i}.mjs`
      project.write(entry, `export * from '${core}'\n`)
      const program = path.join(project.folder, entry)
      await bundleWithEsbuild(program).catch((error) => failed.push(`${core}, esbuild: ${error.message}`))
      await bundleWithVite(program).catch((error) => failed.push(`${core}, vite: ${error.message}`))
      await bundleWithWebpack(program).catch((error) => failed.push(`${core}, webpack: ${error.message}`))
    }
    expect(failed).toEqual([])
  })

  it('finds the same in every package from ESM and from CJS', () => {
    const list = JSON.stringify(entryPoints)
    const report = 'console.log(JSON.stringify(found))'
    const names = '(all) => Object.keys(all).filter((name) => name !== "default" && name !== "module.exports").sort()'
    project.write(
      'esm.mjs',
      `const found = {}\nfor (const name of ${list}) found[name] = (${names})(await import(name))\n${report}\n`,
    )
    project.write(
      'cjs.cjs',
      `const found = {}\nfor (const name of ${list}) found[name] = (${names})(require(name))\n${report}\n`,
    )
    const esm = JSON.parse(project.run(process.execPath, 'esm.mjs'))
    const cjs = JSON.parse(project.run(process.execPath, '--no-warnings', 'cjs.cjs'))
    expect(cjs).toEqual(esm)
    expect(Object.keys(esm)).toHaveLength(entryPoints.length)
    for (const [name, exported] of Object.entries(esm)) expect(exported, name).not.toEqual([])
  })

  it('draws a chart from CJS, although its libraries are ES modules with top-level await', () => {
    const chart = { mark: 'point', data: { values: [{ x: 1 }] }, encoding: { x: { field: 'x', type: 'quantitative' } } }
    project.write(
      'chart.cjs',
      `require('@pctodl/report/charts').renderSvg(${JSON.stringify(chart)}).then(console.log)\n`,
    )
    expect(project.run(process.execPath, 'chart.cjs')).toContain('</svg>')
  })

  it('has types for it all, from ESM and from CJS', () => {
    project.write('types.mts', entryPoints.map((name, i) => `export * as m${i} from '${name}'`).join('\n'))
    project.write(
      'types.cts',
      entryPoints.map((name, i) => `import m${i} = require('${name}')\nexport { m${i} }`).join('\n'),
    )
    const files = ['types.mts', 'types.cts', ...[...examples.keys()].map((name) => `examples/${name}.mts`)]
    const types = path.resolve(import.meta.dirname, '..', 'node_modules', '@types')
    const compilerOptions = {
      target: 'ES2022',
      lib: ['ES2023'],
      module: 'NodeNext',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [types],
    }
    project.write('tsconfig.json', JSON.stringify({ compilerOptions, files }))
    const { stdout } = spawnSync(
      process.execPath,
      [path.resolve('node_modules', compiler, 'bin/tsc'), '-p', project.folder],
      {
        encoding: 'utf8',
      },
    )
    expect(stdout).toBe('')
  })

  it('runs the first example of every package, all in one process', () => {
    const names = [...examples.keys()].filter((name) => !needsHost(name))
    expect(names.length).toBeGreaterThan(20)
    // Between marks, that each one's answer can be told from what others print.
    const lines = names.flatMap((name, i) => [
      `console.log('begin ${name}')`,
      `const example${i} = await import('./examples/${name}.mjs')`,
      ...(exampleCalls[name] ? [`console.log(JSON.stringify(await example${i}.${exampleCalls[name].call}))`] : []),
      `console.log('end ${name}')`,
    ])
    project.write('all-examples.mjs', lines.join('\n'))
    const said = project.run(process.execPath, 'all-examples.mjs')
    for (const name of names) {
      const own = new RegExp(`^begin ${name}\n([^]*)^end ${name}\n`, 'm').exec(said)?.[1]
      expect(own, name).toMatch(exampleCalls[name]?.answer ?? /^/)
    }
  })

  it.skipIf(missingCompiler).each(Object.entries(examplesOnHost))(
    `runs the first example of %s on a simulated host${why(missingCompiler)}`,
    (name, [program, ...words]) => {
      const host = ['sim', 'host', '--gpu', '3080Ti', '--allow-all', '--', process.execPath, `examples/${name}.mjs`]
      const args = program === undefined ? [] : [project.bin(program), ...words]
      const leases = `PCTODL_LEASE_DIR=${path.join(project.folder, 'leases')}`
      const mps = `PCTODL_MPS_DIR=${path.join(project.folder, 'mps')}`
      expect(project.run('env', leases, mps, project.bin('pctodl'), ...host, ...args)).toMatch(/\d/)
    },
  )

  it('can call every command that a package brings', () => {
    const names = workspacePackages().flatMap(({ manifest }) => Object.keys((manifest['bin'] as object) ?? {}))
    expect(names.sort()).toEqual(['bench-runner', 'pctodl', 'pctodld'])
    for (const name of names) expect(project.run(project.bin(name), '--help'), name).toMatch(/^Usage:/)
  })

  it('gets useful advice from pctodl doctor', () => {
    const { works, findings } = JSON.parse(project.run(project.bin('pctodl'), 'doctor', '--json'))
    expect(works).toBe(true)
    for (const { check, verdict, advice } of findings) if (verdict !== 'ok') expect(advice, check).toMatch(/\w{3}/)
    expect(project.run(project.bin('pctodl'), 'doctor')).toMatch(/Works here: simulated boards/)
  })

  it(`compares policies with one command, and ${browser ? 'looks at the report in a browser' : 'gets a report (not looked at: no Chromium)'}`, () => {
    const bench = ['bench', '--gpu', '3080Ti', '--algorithm', 'pctodl,powercap', '--task-id', '5', '6', '--jobs', '1']
    project.run(project.bin('pctodl'), ...bench, '--result-dir', 'results')
    project.run(project.bin('pctodl'), 'bench', 'report', 'results', '--no-oracle')
    const page = path.join(project.folder, 'results', 'report', 'index.html')
    expect(existsSync(page)).toBe(true)
    if (browser === undefined) return
    const look = ['--headless', '--no-sandbox', '--virtual-time-budget=5000', '--dump-dom', pathToFileURL(page).href]
    const seen = execFileSync(browser, look, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    // Scripts and all the page has megabytes; what counts is that its script has drawn into it.
    expect(/<figure[^>]*data-drawn="done"[^>]*>.{0,200}<svg/s.exec(seen)?.index).toBeGreaterThan(0)
  })
})

/** @throws where the bundle would need anything of Node */
async function bundleWithEsbuild(program: string): Promise<void> {
  await bundleProgram({
    entryPoints: [program],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'silent',
  })
}

/** @throws where the bundle would need anything of Node, which vite itself only replaces by an empty module */
async function bundleWithVite(program: string): Promise<void> {
  const vitest = createRequire(import.meta.url).resolve('vitest/package.json')
  const { build } = await import(pathToFileURL(createRequire(vitest).resolve('vite')).href)
  const result = await build({
    root: path.dirname(program),
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: false, lib: { entry: program, formats: ['es'] } },
  })
  const outputs = [result].flat().flatMap(({ output }: { output: { code?: string }[] }) => output)
  const replaced = outputs.find(
    ({ code }: { code?: string }) =>
      code?.includes('__vite-browser-external') || code?.includes('__vite_browser_external'),
  )
  if (replaced !== undefined) throw new Error('a module of Node is imported')
}

/** @throws where the bundle would need anything of Node */
async function bundleWithWebpack(program: string): Promise<void> {
  const webpack = createRequire(program)('webpack')
  const output = { path: path.join(path.dirname(program), 'webpacked'), filename: path.basename(program) }
  await new Promise<void>((resolve, reject) => {
    const settings = { entry: program, output, mode: 'development', devtool: false, target: 'web' }
    webpack(settings, (error: Error | null, stats: { compilation: { errors: Error[] } } | undefined) => {
      const found = error ?? stats?.compilation.errors[0]
      if (found) reject(found)
      else resolve()
    })
  })
}
