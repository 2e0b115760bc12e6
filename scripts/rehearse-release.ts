/**
 * Rehearses a release from end to end without publishing anything: `pnpm rehearse-release [--keep]`.
 *
 * In a copy of the repository, it makes the versions of the next release, and builds and packs as the release does. It
 * publishes with `changeset publish` to a local registry. On each supported Node.js line, it installs everything from
 * there into an empty project, and runs every program and the examples of the READMEs. Packages of other projects come
 * through the same registry; packages of this project can only come from it.
 *
 * Needs git and the package registry. Takes minutes; CI runs it.
 */
import { type ChildProcess, execFile, fork } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { exampleCalls, needsHost } from '../test/example-calls.js'
import { pnpmProgram } from './bring-pnpm.mjs'
import { scriptOptions } from './evaluation/script-options.js'
import { type Manifest, root, workspacePackages } from './pack-packages.js'
import { javaScriptOf, readmeExamples } from './readme-examples.js'
import { versionPackages } from './version-packages.js'

const NODE_LINES = [20, 22, 24]
/** Only the rehearsal needs this program, so it is not a dependency of the repository; a clone need not install it. */
const VERDACCIO = 'verdaccio@6.5.0'

const { keep } = scriptOptions(import.meta.filename, { keep: false })
const run = promisify(execFile)
const folder = mkdtempSync(path.join(tmpdir(), 'pctodl release-'))
const copy = path.join(folder, 'repository')
const tools = path.join(folder, 'tools')
const findings: string[] = []
let registry: ChildProcess | undefined
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    registry?.kill()
    process.exit(1)
  })
}
try {
  await step('copy of the repository', copyRepository)
  await step('Node.js 20, 22 and 24, and a registry', installTools)
  const address = await step('registry', startRegistry)
  await step('versions', async () => versionPackages(copy))
  await step('build', () => pnpm('run', 'build', '--output-logs=errors-only'))
  await step('publish', () => publish(address))
  const released = releasedManifests()
  for (const line of NODE_LINES) await step(`Node.js ${line}`, () => tryOut(line, address, released))
} finally {
  // Ends the registry by its own handle; it has no child processes.
  registry?.kill()
  if (keep) console.log(`kept: ${folder}`)
  else rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
for (const finding of findings) console.error(finding)
console.log(findings.length === 0 ? 'The release can be made.' : `${findings.length} findings`)
process.exitCode = findings.length === 0 ? 0 : 1

async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now()
  const result = await work()
  console.log(`${title}: ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return result
}

/**
 * Copies the files that git knows, in their present state, to a repository of its own, because publishing writes tags.
 */
async function copyRepository(): Promise<void> {
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    maxBuffer: 1 << 26,
  })
  for (const file of stdout.split('\0').filter((name) => name !== '' && existsSync(path.join(root, name)))) {
    mkdirSync(path.dirname(path.join(copy, file)), { recursive: true })
    cpSync(path.join(root, file), path.join(copy, file))
  }
  for (const { folder: place } of workspacePackages()) withoutProvenance(path.join(copy, place, 'package.json'))
  const identity = ['-c', 'user.name=rehearsal', '-c', 'user.email=rehearsal@localhost']
  for (const words of [
    ['init', '--quiet'],
    ['add', '--all'],
    [...identity, 'commit', '--quiet', '--message', 'Rehearsal'],
  ])
    await run('git', words, { cwd: copy, maxBuffer: 1 << 26 })
  await pnpm('install', '--frozen-lockfile', '--prefer-offline', '--reporter=silent')
}

/**
 * Disables provenance, a signature of the publishing workflow: outside of a workflow, npm refuses to publish with it.
 */
function withoutProvenance(file: string): void {
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  manifest.publishConfig.provenance = false
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
}

async function installTools(): Promise<void> {
  mkdirSync(tools, { recursive: true })
  // A dependency of the registry requests node-fetch 2 by a tag that not every mirror of npm's registry has.
  writeFileSync(path.join(tools, 'package.json'), '{ "private": true, "overrides": { "node-fetch": "2.7.0" } }\n')
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const nodes = NODE_LINES.map((line) => `node-${line}@npm:node-${platform}-${process.arch}@${line}`)
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel=error']
  await npm(process.execPath, tools, {}, 'install', ...options, VERDACCIO, ...nodes)
}

function nodeOf(line: number): string {
  const home = path.join(tools, 'node_modules', `node-${line}`, 'bin')
  return path.join(home, process.platform === 'win32' ? 'node.exe' : 'node')
}

/** @returns the registry's address */
async function startRegistry(): Promise<string> {
  const port = await freePort()
  const upstream = (await run('npm', ['config', 'get', 'registry'], { cwd: folder })).stdout.trim()
  const storage = path.join(folder, 'storage')
  const everybody = { access: '$all', publish: '$all', unpublish: '$all' }
  const config = {
    storage,
    uplinks: { upstream: { url: upstream, maxage: '1d', cache: true } },
    packages: { '@pctodl/*': everybody, pctodl: everybody, '**': { access: '$all', proxy: 'upstream' } },
    server: { keepAliveTimeout: 60 },
    log: { type: 'file', path: path.join(folder, 'registry.log'), level: 'warn' },
  }
  // JSON is also valid YAML.
  const file = path.join(folder, 'registry.yaml')
  writeFileSync(file, JSON.stringify(config))
  const program = path.join(tools, 'node_modules', 'verdaccio', 'bin', 'verdaccio')
  const child = fork(program, ['--config', file, '--listen', `127.0.0.1:${port}`], {
    execPath: nodeOf(Math.max(...NODE_LINES)),
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  registry = child
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message: { readonly verdaccio_started?: boolean }) => message.verdaccio_started && resolve())
    child.on('exit', (code) => reject(new Error(`the registry ended with ${code}; see ${folder}/registry.log`)))
  })
  return `http://127.0.0.1:${port}/`
}

function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })
}

/**
 * Publishes as the last step of `pnpm release` does. This registry lets everybody publish, but npm still requires a
 * token.
 */
async function publish(address: string): Promise<void> {
  const userconfig = path.join(folder, 'npmrc')
  writeFileSync(userconfig, `registry=${address}\n${address.replace('http:', '')}:_authToken=rehearsal\n`)
  const changeset = path.join(copy, 'node_modules', '@changesets', 'cli', 'bin.js')
  await run(process.execPath, [changeset, 'publish'], {
    cwd: copy,
    env: environment({ NPM_CONFIG_USERCONFIG: userconfig, npm_config_registry: address }),
    maxBuffer: 1 << 26,
  })
}

function releasedManifests(): Manifest[] {
  return workspacePackages().map(({ folder: place }) =>
    JSON.parse(readFileSync(path.join(copy, place, 'package.json'), 'utf8')),
  )
}

/** Installs the published packages on one line of Node.js, and uses them. */
async function tryOut(line: number, address: string, released: readonly Manifest[]): Promise<void> {
  const node = nodeOf(line)
  const project = path.join(folder, `on node ${line}`)
  mkdirSync(path.join(project, 'examples'), { recursive: true })
  const dependencies = Object.fromEntries(released.map(({ name, version }) => [name, version]))
  writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'user', private: true, dependencies }))
  const env = { npm_config_registry: address, npm_config_cache: path.join(folder, 'npm-cache') }
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--engine-strict', '--loglevel=error']
  await npm(node, project, env, 'install', ...options)

  const checks: (() => Promise<void>)[] = []
  for (const { name, version, bin = {} } of released as readonly (Manifest & { bin?: Record<string, string> })[]) {
    const home = path.join(project, 'node_modules', name)
    for (const [binary, file] of Object.entries(bin)) {
      const ask = async (option: string, expected: RegExp) =>
        expecting(`${binary} ${option} on Node.js ${line}`, expected, node, [path.join(home, file), option], project)
      checks.push(() => ask('--version', new RegExp(`^${version.replaceAll('.', '\\.')}\n$`)))
      checks.push(() => ask('--help', /^Usage:/))
    }
  }
  for (const [name, example] of readmeExamples()) {
    if (needsHost(name)) continue
    const file = path.join(project, 'examples', `${name}.mjs`)
    writeFileSync(file, javaScriptOf(example))
    const { call, answer } = exampleCalls[name] ?? {}
    const ask = call === undefined ? '' : `; console.log(JSON.stringify(await example.${call}))`
    const script = `const example = await import(${JSON.stringify(pathToFileURL(file).href)})${ask}`
    checks.push(() =>
      expecting(
        `the example of ${name} on Node.js ${line}`,
        answer ?? /^/,
        node,
        ['--input-type=module', '-e', script],
        project,
      ),
    )
  }
  await Promise.all(Array.from({ length: availableParallelism() }, () => work(checks)))
}

async function work(checks: (() => Promise<void>)[]): Promise<void> {
  for (let check = checks.pop(); check !== undefined; check = checks.pop()) await check()
}

async function expecting(
  what: string,
  expected: RegExp,
  node: string,
  words: readonly string[],
  cwd: string,
): Promise<void> {
  try {
    const { stdout } = await run(node, words, { cwd, env: environment({}), timeout: 120_000, maxBuffer: 1 << 26 })
    if (!expected.test(stdout))
      findings.push(`${what}: printed ${JSON.stringify(stdout.slice(0, 300))}, not ${expected}`)
  } catch (error) {
    findings.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Runs npm with another Node.js than this process. */
async function npm(node: string, cwd: string, env: NodeJS.ProcessEnv, ...words: readonly string[]): Promise<void> {
  await run(node, [await npmProgram(), ...words], { cwd, env: environment(env), maxBuffer: 1 << 26 })
}

async function npmProgram(): Promise<string> {
  const { stdout } = await run('npm', ['root', '--global'], { shell: process.platform === 'win32' })
  const beside = path.join(stdout.trim(), 'npm', 'bin', 'npm-cli.js')
  return process.env['npm_execpath']?.endsWith('npm-cli.js') ? process.env['npm_execpath'] : beside
}

async function pnpm(...words: readonly string[]): Promise<void> {
  await run(process.execPath, [pnpmProgram, ...words], { cwd: copy, env: environment({}), maxBuffer: 1 << 26 })
}

/** Environment without the variables that pnpm, npm and this script's loader have set. */
function environment(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS' && !/^(npm|pnpm)_/i.test(name))
  const kept = process.env['npm_config_registry']
  return { ...Object.fromEntries(own), ...(kept === undefined ? {} : { npm_config_registry: kept }), ...more }
}
