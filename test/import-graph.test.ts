import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

/**
 * Which packages of the family each package may import: the arrows of ARCHITECTURE.md. What is absent is forbidden, above
 * all between the simulator and the predictor: each stands for itself, or results fitted on one by the other mean nothing.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  platform: [],
  numerics: ['platform'],
  traffic: ['platform', 'numerics'],
  'reference-data': [],
  'command-line': ['platform'],
  'job-array': ['platform', 'command-line'],
  'model-zoo': ['platform', 'numerics'],
  'gpu-sim': ['platform', 'numerics', 'model-zoo'],
  'sim-host': ['platform', 'numerics', 'command-line', 'model-zoo', 'gpu-sim'],
  'perf-model': ['platform', 'numerics', 'command-line'],
  'greedy-partition': ['platform', 'numerics', 'command-line', 'perf-model'],
  published: ['platform', 'numerics', 'command-line', 'perf-model', 'colocation'],
  'thermo-dvfs': ['platform'],
  'nvml-control': ['platform', 'command-line'],
  'mps-control': ['platform', 'command-line', 'nvml-control'],
  'node-service': ['platform', 'command-line', 'nvml-control', 'mps-control'],
  tenants: ['platform', 'numerics', 'model-zoo', 'mps-control'],
  backend: ['platform', 'command-line', 'gpu-sim', 'nvml-control', 'mps-control', 'tenants'],
  profiler: ['platform', 'numerics', 'command-line', 'job-array', 'backend'],
  scheduler: ['platform', 'numerics', 'perf-model', 'greedy-partition', 'thermo-dvfs'],
  baselines: ['platform', 'perf-model', 'published', 'scheduler'],
  govern: ['platform', 'numerics', 'command-line', 'perf-model', 'nvml-control', 'scheduler'],
  'mig-segments': ['platform', 'numerics', 'traffic', 'command-line', 'colocation'],
  colocation: ['platform', 'numerics', 'command-line'],
  'hetero-training': ['platform', 'numerics', 'command-line'],
  'resource-sensitivity': ['platform', 'numerics', 'command-line', 'job-array'],
  report: ['platform', 'numerics', 'command-line'],
  run: ['platform', 'command-line', 'perf-model', 'gpu-sim', 'backend', 'scheduler', 'baselines', 'report'],
  // What its page shows is bundled into it; only its command is loaded by others.
  playground: [
    'platform',
    'numerics',
    'command-line',
    'perf-model',
    'greedy-partition',
    'scheduler',
    'gpu-sim',
    'traffic',
    'report',
    'run',
    'bench-runner',
  ],
  'bench-runner': [
    'platform',
    'numerics',
    'traffic',
    'command-line',
    'job-array',
    'model-zoo',
    'perf-model',
    'greedy-partition',
    'thermo-dvfs',
    'gpu-sim',
    'backend',
    'scheduler',
    'baselines',
    'report',
    'run',
  ],
  cli: [
    'platform',
    'command-line',
    'perf-model',
    'greedy-partition',
    'published',
    'profiler',
    'report',
    'run',
    'playground',
    'bench-runner',
    'sim-host',
    'nvml-control',
    'mps-control',
    'node-service',
    'govern',
    'tenants',
    'backend',
    'mig-segments',
    'colocation',
    'hetero-training',
    'resource-sensitivity',
  ],
}

/** Packages that only a command line loads, when an option asks for them: optional peers of what is published. */
const mayLoadOnDemand: Readonly<Record<string, readonly string[]>> = {
  'perf-model': ['report', 'model-zoo'],
  profiler: ['perf-model', 'greedy-partition'],
  'mig-segments': ['nvml-control', 'mps-control'],
  colocation: ['report'],
  'hetero-training': ['nvml-control', 'gpu-sim', 'model-zoo'],
}

const packagesDir = path.resolve(import.meta.dirname, '..', 'packages')
const packages = readdirSync(packagesDir)

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
}

/** Folders of what a package ships: its sources, and those of a page. */
function shippedFolders(name: string): string[] {
  return ['src', 'site'].map((folder) => path.join(packagesDir, name, folder)).filter((folder) => existsSync(folder))
}

function ofTheFamily(dependencies: Readonly<Record<string, string>> | undefined): string[] {
  return Object.keys(dependencies ?? {})
    .filter((dependency) => dependency.startsWith('@pctodl/'))
    .map((dependency) => dependency.slice('@pctodl/'.length))
}

/** The entries of a package for other packages, '' being its main one: command lines are the umbrella's alone. */
function entriesOf(name: string): string[] {
  const manifest = JSON.parse(readFileSync(path.join(packagesDir, name, 'package.json'), 'utf8'))
  return Object.keys(manifest.exports)
    .map((entry) => entry.replace(/^\.\/?/, ''))
    .filter((entry) => entry !== 'commands' && !entry.endsWith('.json'))
}

/** Packages of the family that are loaded with the file itself; types alone cost nothing. */
function staticImportsOf(source: string): string[] {
  return [
    ...source.matchAll(/^(?:import|export)\s+(?!type\b)(?:[\w$*{},\s]*?from\s*)?['"](@pctodl\/[^'"]+)['"]/gm),
  ].map(([, name]) => name!)
}

/** Packages of the family that a text imports, whatever the form of the import. */
function importsOf(source: string): string[] {
  const specifiers = source.matchAll(
    /(?:from\s*|import\s*\(?\s*|require\(\s*|import\.meta\.resolve\(\s*)['"]([^'"]+)['"]/g,
  )
  return [...specifiers].map(([, specifier]) => specifier!).filter((specifier) => specifier.startsWith('@pctodl/'))
}

/** Groups of files that reach each other by relative imports, those of types included; by path below `folder`. */
function circlesIn(folder: string): string[][] {
  const files = sourceFiles(folder)
  const importsOfFile = new Map(
    files.map((file) => {
      const specifiers = readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)
      const targets = [...specifiers].map(([, specifier]) =>
        path.resolve(path.dirname(file), specifier!).replace(/\.js$/, '.ts'),
      )
      return [file, targets.flatMap((target) => [target, `${target}x`]).filter((target) => files.includes(target))]
    }),
  )
  const reachable = (from: string) => {
    const seen = new Set<string>()
    const open = [...importsOfFile.get(from)!]
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (seen.has(file)) continue
      seen.add(file)
      open.push(...importsOfFile.get(file)!)
    }
    return seen
  }
  const reaches = new Map(files.map((file) => [file, reachable(file)]))
  const inCircle = files.filter((file) => reaches.get(file)!.has(file)).sort()
  const groups = new Map<string, string[]>()
  for (const file of inCircle) {
    const first = inCircle.find((other) => reaches.get(file)!.has(other) && reaches.get(other)!.has(file))!
    groups.set(first, [...(groups.get(first) ?? []), path.relative(folder, file)])
  }
  return [...groups.values()]
}

describe('the import graph', () => {
  it('knows every package', () => {
    expect(Object.keys(mayImport).sort()).toEqual([...packages].sort())
  })

  it.each(packages)('%s imports only what its place allows, and declares it', (name) => {
    const manifest = JSON.parse(readFileSync(path.join(packagesDir, name, 'package.json'), 'utf8'))
    const declared = ofTheFamily(manifest.dependencies)
    const optional = ofTheFamily(manifest.peerDependencies)
    for (const dependency of declared) expect(mayImport[name], `${name} declares ${dependency}`).toContain(dependency)
    for (const peer of optional) {
      expect(mayLoadOnDemand[name] ?? [], `${name} has the peer ${peer}`).toContain(peer)
      expect(manifest.peerDependenciesMeta[`@pctodl/${peer}`], `${name}: ${peer} is optional`).toEqual({
        optional: true,
      })
    }
    for (const file of shippedFolders(name).flatMap((folder) => sourceFiles(folder))) {
      const source = readFileSync(file, 'utf8')
      for (const specifier of importsOf(source)) {
        const [imported = '', ...inside] = specifier.slice('@pctodl/'.length).split('/')
        // Command lines are what the umbrella is made of: they are published for it, and loaded by the command that is called.
        const isCommandLine = name === 'cli' && inside.join('/') === 'commands'
        if (!isCommandLine) {
          expect(entriesOf(imported), `${file} reaches into ${imported}`).toContain(inside.join('/'))
        } else expect(staticImportsOf(source), `${file} loads ${imported} on demand only`).not.toContain(specifier)
        expect([...declared, ...optional], `${file} imports ${imported} undeclared`).toContain(imported)
        if (optional.includes(imported)) {
          expect(staticImportsOf(source), `${file} loads the optional ${imported} on demand only`).not.toContain(
            specifier,
          )
        }
      }
      expect(source, `${file} leaves its package by a relative path`).not.toMatch(/['"](\.\.\/)+packages\//)
    }
  })

  it.each(packages)('%s has no circle of imports among its files', (name) => {
    expect(shippedFolders(name).flatMap((folder) => circlesIn(folder))).toEqual([])
  })

  it('sees a circle, of types too', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-circle-'))
    try {
      writeFileSync(path.join(folder, 'a.ts'), `import type { B } from './b.js'\nimport { c } from './deep/c.js'\n`)
      writeFileSync(path.join(folder, 'b.ts'), `export * from './a.js'\n`)
      mkdirSync(path.join(folder, 'deep'))
      writeFileSync(path.join(folder, 'deep/c.ts'), `export const c = 1\n`)
      expect(circlesIn(folder)).toEqual([['a.ts', 'b.ts']])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('keeps the wall between simulator and predictor in tests and scripts too', () => {
    for (const [name, stranger] of [
      ['gpu-sim', '@pctodl/perf-model'],
      ['sim-host', '@pctodl/perf-model'],
      ['perf-model', '@pctodl/gpu-sim'],
    ] as const) {
      for (const file of sourceFiles(path.join(packagesDir, name))) {
        if (file.includes('node_modules') || file.includes(`${path.sep}dist${path.sep}`)) continue
        expect(importsOf(readFileSync(file, 'utf8')), file).not.toContain(stranger)
      }
    }
  })

  it('keeps the simulated truth out of everything but reports', () => {
    // The playground shows it beside what a run did, as `run` does.
    const mayKnow = ['gpu-sim', 'sim-host', 'bench-runner', 'run', 'playground']
    for (const name of packages.filter((candidate) => !mayKnow.includes(candidate))) {
      for (const file of shippedFolders(name).flatMap((folder) => sourceFiles(folder))) {
        expect(readFileSync(file, 'utf8'), file).not.toMatch(/findOracle|simulateSteadyState|\.truth\(/)
      }
    }
  })

  it('keeps reference data to tests, benchmarks and scripts', () => {
    for (const name of packages.filter((candidate) => candidate !== 'reference-data')) {
      const manifest = JSON.parse(readFileSync(path.join(packagesDir, name, 'package.json'), 'utf8'))
      const shipped = { ...manifest.dependencies, ...manifest.peerDependencies }
      expect(shipped, name).not.toHaveProperty('@pctodl/reference-data')
    }
  })

  it('keeps what others published out of every library', () => {
    const mayStandOnIt = ['baselines', 'bench-runner', 'cli']
    for (const [name, imported] of Object.entries(mayImport)) {
      if (!mayStandOnIt.includes(name)) expect(imported, name).not.toContain('published')
    }
  })

  it('keeps back ends out of the libraries that only know interfaces', () => {
    for (const name of [
      'perf-model',
      'greedy-partition',
      'thermo-dvfs',
      'scheduler',
      'baselines',
      'mig-segments',
      'colocation',
    ]) {
      expect(mayImport[name]).not.toContain('gpu-sim')
    }
  })

  it('sees every form of import', () => {
    const source = `import a from '@pctodl/x'\nexport { b } from "@pctodl/y"\nawait import('@pctodl/z')\nrequire('@pctodl/w')\nimport '@pctodl/v'`
    expect(importsOf(source).sort()).toEqual(['@pctodl/v', '@pctodl/w', '@pctodl/x', '@pctodl/y', '@pctodl/z'])
  })
})
