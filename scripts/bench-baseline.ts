/**
 * Benchmarks with a saved baseline. What they print is kept as it is; figures are found in it and compared line by line.
 *
 *   pnpm bench:save [package...]       run the benchmarks and keep their output in .benchmarks/
 *   pnpm bench:compare [package...]    run them again and show the figures that moved
 *
 * Only ratios between runs on one machine at one load mean anything, so the machine and its load are kept with the output.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import path from 'node:path'
import { changedFigures } from './changed-figures.js'

const root = path.resolve(import.meta.dirname, '..')
const baselines = path.join(root, '.benchmarks')

const [mode, ...asked] = process.argv.slice(2)
if (mode !== 'save' && mode !== 'compare') {
  console.error('usage: bench-baseline.ts save|compare [package...]')
  process.exit(2)
}
const withBenchmarks = readdirSync(path.join(root, 'packages')).filter((name) => {
  const manifest = path.join(root, 'packages', name, 'package.json')
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).scripts?.bench !== undefined
})
for (const name of asked) {
  if (withBenchmarks.includes(name)) continue
  console.error(`no benchmarks in '${name}'; there are some in ${withBenchmarks.join(', ')}`)
  process.exit(2)
}
let failed = false
for (const name of asked.length > 0 ? asked : withBenchmarks) {
  const file = path.join(baselines, `${name}.txt`)
  if (mode === 'compare' && !existsSync(file)) {
    console.log(`${name}: no baseline; make one with pnpm bench:save ${name}`)
    continue
  }
  const { status, stdout } = spawnSync('pnpm', ['--silent', 'run', 'bench'], {
    cwd: path.join(root, 'packages', name),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) {
    console.log(`${name}: its benchmark failed`)
    failed = true
  } else if (mode === 'save') {
    mkdirSync(baselines, { recursive: true })
    writeFileSync(file, `${machine()}\n${stdout}`)
    console.log(`${name}: kept in ${path.relative(root, file)}`)
  } else {
    const [before = '', ...lines] = readFileSync(file, 'utf8').split('\n')
    const changes = changedFigures(lines.join('\n'), stdout)
    console.log(`${name} (before: ${before}; now: ${machine()})`)
    for (const { line, ratio } of changes) console.log(`  x ${ratio.toFixed(2)}  ${line}`)
    if (changes.length === 0) console.log('  no figure moved by more than a quarter')
  }
}
process.exitCode = failed ? 1 : 0

function machine(): string {
  return `${cpus()[0]?.model ?? 'unknown processor'} x ${cpus().length}, load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`
}
