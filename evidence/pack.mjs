/**
 * Packs everything for a measurement on a machine without a network into one folder: this Node.js (compressed), `pctodl
 * prove` and `pctodl profile` with all that they import, the PyTorch worker, and the NVML binding. On that machine, run
 * `prove.sh`.
 *
 *   node evidence/pack.mjs [folder] [--without-node]
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { build } from 'tsup'

const here = import.meta.dirname
const packages = path.resolve(here, '../packages')

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
const [folder = path.join(here, 'carried')] = process.argv.slice(2).filter((word) => !word.startsWith('--'))

rmSync(folder, { recursive: true, force: true })
const programs = path.join(folder, 'programs')
mkdirSync(programs, { recursive: true })
await build({
  config: false,
  silent: true,
  platform: 'node',
  target: 'node20',
  entry: {
    prove: path.join(packages, 'profiler/src/prove-program.ts'),
    profile: path.join(packages, 'profiler/src/profile-program.ts'),
    // Program of a lease's watchdog. It must be beside the program that takes the lease.
    'restore-journal': path.join(packages, 'nvml-control/src/restore-journal.ts'),
  },
  format: ['cjs'],
  outDir: programs,
  shims: true,
  splitting: false,
  noExternal: [/.*/],
  esbuildOptions(options) {
    options.conditions = ['@pctodl/source']
    options.external = ['@pctodl/report', 'koffi', 'onnxruntime-node', 'sharp']
    options.logLevel = 'error'
  },
  outExtension: () => ({ js: '.js' }),
})
writeFileSync(path.join(folder, 'package.json'), '{ "type": "commonjs" }\n')
cpSync(path.join(packages, 'tenants/python'), path.join(folder, 'python'), {
  recursive: true,
  filter: (file) => !file.includes('__pycache__'),
})
carryKoffi()
cpSync(path.join(here, 'prove.sh'), path.join(folder, 'prove.sh'))
chmodSync(path.join(folder, 'prove.sh'), 0o755)
if (!flags.includes('--without-node')) {
  cpSync(process.execPath, path.join(folder, 'node'))
  const compressed = spawnSync('xz', ['-T0', '-1', path.join(folder, 'node')], { stdio: 'inherit' })
  if (compressed.status !== 0) throw new Error('xz is needed to make Node.js small enough to carry')
}
console.log(`packed into ${folder}`)

/** Copies the binding, and only its binary for this kind of machine. */
function carryKoffi() {
  const koffi = realpathSync(path.join(packages, 'nvml-control/node_modules/koffi'))
  const binary = realpathSync(path.join(koffi, '..', '@koromix', `koffi-${process.platform}-${process.arch}`))
  const modules = path.join(folder, 'node_modules')
  const isNeeded = (file) => !/\/(doc|vendor|lib|build)(\/|$)/.test(file.slice(koffi.length))
  cpSync(koffi, path.join(modules, 'koffi'), { recursive: true, dereference: true, filter: isNeeded })
  cpSync(binary, path.join(modules, '@koromix', path.basename(binary)), { recursive: true, dereference: true })
}
