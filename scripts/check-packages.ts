/**
 * Checks that the packages can be published: `pnpm check-packages`, after a build.
 *
 * Checks the manifests, runs publint and are-the-types-wrong on the packed packages, runs knip on the workspace, and
 * prints the size of each package against its budget. A tarball in which nothing was found is not checked again.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { type Manifest, packAll, root, type WorkspacePackage, workspacePackages } from './pack-packages.js'

/** Size limit of a tarball, kB. */
const BUDGET_KB = 450

const rootManifest: Manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'))
const findings: string[] = []
const report = (name: string, problem: string) => findings.push(`${name}: ${problem}`)

// Runs in parallel with the checks of the packages, because each takes seconds on one core.
const knip = knipFindings()
const cache = path.join(root, 'node_modules', '.cache')
/** Hashes of the tarballs in which nothing was found. pnpm may pack a package in another order; it is then checked again. */
const faultlessFile = path.join(cache, 'faultless-packages.json')
const faultless = new Set<string>(existsSync(faultlessFile) ? JSON.parse(readFileSync(faultlessFile, 'utf8')) : [])
/** What the checks of a tarball depend on beside it: their code, and the versions of the tools. */
const checks = [import.meta.filename, path.join(root, 'pnpm-lock.yaml')].map((file) => readFileSync(file))
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-packages-'))
try {
  const tarballs = packAll(folder)
  const sizes = []
  const kept: string[] = []
  for (const workspacePackage of workspacePackages()) {
    const { name } = workspacePackage
    checkManifest(workspacePackage)
    const tarball = readFileSync(tarballs.get(name)!)
    const hash = [...checks, tarball].reduce((sum, part) => sum.update(part), createHash('sha256')).digest('hex')
    const before = findings.length
    if (!faultless.has(hash)) await checkTarball(name, tarball)
    if (findings.length === before) kept.push(hash)
    const packedKb = tarball.length / 1000
    if (packedKb > BUDGET_KB) report(name, `its tarball has ${packedKb.toFixed(0)} kB, the budget is ${BUDGET_KB} kB`)
    sizes.push({
      package: name,
      'tarball kB': Math.round(packedKb),
      'of budget': `${Math.round((100 * packedKb) / BUDGET_KB)} %`,
    })
  }
  mkdirSync(cache, { recursive: true })
  writeFileSync(faultlessFile, JSON.stringify(kept))
  console.table(sizes)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

const found = await knip
if (found !== undefined) report('knip', `\n${found}`)

for (const finding of findings) console.error(finding)
console.log(findings.length === 0 ? 'All packages can be published.' : `${findings.length} findings`)
process.exitCode = findings.length === 0 ? 0 : 1

/** @returns what knip reports as unused or missing; undefined if it reports nothing */
async function knipFindings(): Promise<string | undefined> {
  const cached = ['--cache', '--cache-location', path.join(root, 'node_modules', '.cache', 'knip')]
  const words = [path.join(root, 'node_modules/knip/bin/knip.js'), '--no-progress', '--no-config-hints', ...cached]
  try {
    await promisify(execFile)(process.execPath, words, { cwd: root, maxBuffer: 2 ** 26 })
    return undefined
  } catch (error) {
    const { stdout = '', stderr = String(error) } = error as { readonly stdout?: string; readonly stderr?: string }
    return `${stdout}${stderr}`
  }
}

/** Checks fields that every manifest must have. */
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

/** Checks the manifest, the files and the types of a packed package. */
async function checkTarball(name: string, tarball: Buffer): Promise<void> {
  const { checkPackage, createPackageFromTarballData } = await typesChecker()
  const types = createPackageFromTarballData(tarball)
  checkPacked(name, JSON.parse(types.readFile(`/node_modules/${name}/package.json`)))
  const { messages, pkg } = await publint({ pack: { tarball: exactBuffer(tarball) }, strict: true })
  for (const message of messages) report(name, `publint: ${formatMessage(message, pkg!, { color: false })}`)
  const { problems = [] } = await checkPackage(types)
  // Node 10's resolution does not know subpaths; no supported Node uses it.
  for (const problem of problems.filter(({ resolutionKind }) => resolutionKind !== 'node10')) {
    report(
      name,
      `types: ${problem.kind} at ${problem.entrypoint ?? problem.fileName} (${problem.resolutionKind ?? 'any'})`,
    )
  }
}

/** Checks that a packed manifest contains nothing that is valid only in the workspace. */
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

/** Copies exactly the file's bytes, because the Buffer of a small file is a view of a larger one. */
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

/** Loads are-the-types-wrong as a library. Its command would start TypeScript again for each package. */
function typesChecker(): Promise<TypesChecker> {
  const cli = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json')
  return import(pathToFileURL(createRequire(cli).resolve('@arethetypeswrong/core')).href)
}
