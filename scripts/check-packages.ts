/**
 * Whether the packages can be published as they are: `pnpm check-packages`, after a build.
 *
 * Checks the manifests, runs publint and are-the-types-wrong on what would be published, runs knip on the workspace, and prints
 * how large each package is against its budget.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { type Manifest, packAll, root, type WorkspacePackage, workspacePackages } from './pack-packages.js'

/** Largest tarball, kB; most of it are source maps. */
const BUDGET_KB = 450

const rootManifest: Manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const findings: string[] = []
const report = (name: string, problem: string) => findings.push(`${name}: ${problem}`)

// Beside the packages: each of the two takes seconds, and one core.
const knip = knipFindings()
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-packages-'))
try {
  const tarballs = packAll(folder)
  const { checkPackage, createPackageFromTarballData } = await typesChecker()
  const sizes = []
  for (const workspacePackage of workspacePackages()) {
    const { name } = workspacePackage
    checkManifest(workspacePackage)
    const file = tarballs.get(name)!
    const tarball = readFileSync(file)
    const types = createPackageFromTarballData(tarball)
    checkPacked(name, JSON.parse(types.readFile(`/node_modules/${name}/package.json`)))
    const { messages, pkg } = await publint({ pack: { tarball: exactBuffer(tarball) }, strict: true })
    for (const message of messages) report(name, `publint: ${formatMessage(message, pkg!, { color: false })}`)
    const { problems = [] } = await checkPackage(types)
    // Subpaths do not exist for the resolution of Node 10, which no supported Node has.
    for (const problem of problems.filter(({ resolutionKind }) => resolutionKind !== 'node10')) {
      report(
        name,
        `types: ${problem.kind} at ${problem.entrypoint ?? problem.fileName} (${problem.resolutionKind ?? 'any'})`,
      )
    }
    const packedKb = statSync(file).size / 1000
    if (packedKb > BUDGET_KB) report(name, `its tarball has ${packedKb.toFixed(0)} kB, the budget is ${BUDGET_KB} kB`)
    sizes.push({
      package: name,
      'tarball kB': Math.round(packedKb),
      'of budget': `${Math.round((100 * packedKb) / BUDGET_KB)} %`,
    })
  }
  console.table(sizes)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

const found = await knip
if (found !== undefined) report('knip', `\n${found}`)

for (const finding of findings) console.error(finding)
console.log(findings.length === 0 ? 'All packages can be published.' : `${findings.length} findings`)
process.exitCode = findings.length === 0 ? 0 : 1

/** @returns what knip says is unused or missing; undefined where it is content */
async function knipFindings(): Promise<string | undefined> {
  const kept = ['--cache', '--cache-location', path.join(root, 'node_modules', '.cache', 'knip')]
  const words = [path.join(root, 'node_modules/knip/bin/knip.js'), '--no-progress', '--no-config-hints', ...kept]
  try {
    await promisify(execFile)(process.execPath, words, { cwd: root, maxBuffer: 2 ** 26 })
    return undefined
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as { readonly stdout?: string; readonly stderr?: string }
    return `${stdout}${stderr}`
  }
}

/** What every manifest must say. */
function checkManifest({ name, folder: source, manifest }: WorkspacePackage): void {
  const expected: Record<string, unknown> = {
    license: rootManifest['license'],
    type: 'module',
    sideEffects: false,
    engines: rootManifest['engines'],
    repository: { ...rootManifest.repository, directory: source },
    homepage: `${webAddress()}/tree/main/${source}#readme`,
    bugs: { url: `${webAddress()}/issues` },
  }
  for (const [key, value] of Object.entries(expected)) {
    if (!equal(manifest[key], value))
      report(name, `${key}: is ${JSON.stringify(manifest[key])}, must be ${JSON.stringify(value)}`)
  }
  if ((manifest.description ?? '').length < 20) report(name, 'description: says too little to be found by')
  if ((manifest.keywords ?? []).length < 3) report(name, 'keywords: needs at least three')
  for (const file of ['dist', 'README.md', 'LICENSE']) {
    if (!manifest.files?.includes(file)) report(name, `files: lacks ${file}`)
  }
  const { access, provenance, exports } = manifest.publishConfig ?? {}
  if (access !== 'public' || provenance !== true) report(name, 'publishConfig: must be public, with provenance')
  if (!equal(exports, withoutSources(manifest.exports)))
    report(name, 'publishConfig.exports: must be exports without sources')
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === 'string') continue
    for (const kind of ['import', 'require']) {
      const files = target[kind]
      if (typeof files !== 'object' || !files.types) report(name, `exports["${subpath}"].${kind}: has no types`)
    }
  }
}

/** What must not be in a published manifest: what only the workspace understands. */
function checkPacked(name: string, { exports, dependencies = {}, peerDependencies = {} }: Manifest): void {
  if (JSON.stringify(exports).includes('@pctodl/source')) report(name, 'packed: exports name sources')
  for (const [dependency, range] of Object.entries({ ...dependencies, ...peerDependencies })) {
    if (range.startsWith('workspace:')) report(name, `packed: ${dependency} has the version ${range}`)
  }
}

function withoutSources(exports: Manifest['exports']): unknown {
  return JSON.parse(JSON.stringify(exports, (key, value) => (key === '@pctodl/source' ? undefined : value)))
}

function webAddress(): string {
  return rootManifest.repository.url.replace(/^git\+/, '').replace(/\.git$/, '')
}

function equal(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** A Buffer of a small file is a window into a larger one. */
function exactBuffer({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
}

interface TypesChecker {
  createPackageFromTarballData(tarball: Uint8Array): { readFile(file: string): string }
  checkPackage(types: unknown): Promise<{ readonly problems?: readonly TypesProblem[] }>
}

interface TypesProblem {
  readonly kind: string
  readonly entrypoint?: string
  readonly fileName?: string
  readonly resolutionKind?: string
}

/** are-the-types-wrong as a library: its command would start TypeScript anew for each package. */
function typesChecker(): Promise<TypesChecker> {
  const cli = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json')
  return import(pathToFileURL(createRequire(cli).resolve('@arethetypeswrong/core')).href)
}
