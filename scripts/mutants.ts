/**
 * How much of the core could change without a test that notices: small changes of its sources, drawn at random by a seed, each
 * against those tests of its package, and of the package that holds its other end, that reach what changed. What a test's own
 * processes run is not changed.
 *
 * Prints each survivor with its place and change; survivors are either behaviour that no test holds, or no change at all.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type Mutant, markedSource, mutantsOf } from './mutants/mutants-of.js'
import { TestHostProcess } from './mutants/test-host-process.js'
import { MARK } from './mutants/test-host-protocol.js'
import { RelatedTests } from './related-tests.js'

const corePackages = [
  'thermo-dvfs',
  'perf-model',
  'greedy-partition',
  'scheduler',
  'nvml-control',
  'tenants',
  'mig-segments',
  'colocation',
]

/** By package: another one whose tests hold a part of it. The node service's tests speak with its client. */
const otherEnd: Readonly<Record<string, string>> = { 'nvml-control': 'node-service' }

/** What a mutant may compute beyond a multiple of what its tests compute, ms. */
const SPARE_CPU_MS = 10_000
const SLOWER = 4
const MOST_CPU_MS = 10 * 60_000

const help = `Usage: pnpm mutants [options]

  --seed <n>             of the sample (default: 1)
  --count <n>            mutants, the same number of each package (default: 80)
  --package <name,...>   default: ${corePackages.join(',')}
  --file <text>          only sources whose path has it in it
  --lines <from>-<to>    only these lines of each
  --test <text>          against those tests only whose path has it in it: what a new test notices
  --json                 every mutant with its ending, as JSON

One package drawn alone gives the mutants that it has in a sample of all of them: --package x --count 38 those of --count 304.
`

const root = path.resolve(import.meta.dirname, '..')
const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '80' },
    package: { type: 'string', default: corePackages.join(',') },
    file: { type: 'string', default: '' },
    lines: { type: 'string', default: `1-${Number.MAX_SAFE_INTEGER}` },
    test: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  process.stdout.write(help)
  process.exit()
}
const [firstLine, lastLine = firstLine] = options.lines.split('-').map(Number)

interface Outcome {
  readonly mutant: Mutant
  readonly ending: 'killed' | 'timeout' | 'survived' | 'untested'
}

const packages = options.package.split(',')
const perPackage = Math.ceil(Number(options.count) / packages.length)
const outcomes: Outcome[] = []
for (const name of packages) outcomes.push(...(await outcomesOf(name)))

const survivors = outcomes.filter(({ ending }) => ending === 'survived' || ending === 'untested')
if (options.json) console.log(JSON.stringify(outcomes, null, 2))
else {
  for (const { mutant, ending } of survivors) {
    console.log(
      `${mutant.file}:${mutant.line}  ${mutant.change}${ending === 'untested' ? '  (no test reaches it)' : ''}`,
    )
  }
  const killed = outcomes.length - survivors.length
  const percent = ((100 * killed) / Math.max(1, outcomes.length)).toFixed(0)
  console.log(`${killed} of ${outcomes.length} mutants killed (${percent} %), seed ${options.seed}`)
}

async function outcomesOf(name: string): Promise<Outcome[]> {
  const drawn = draw(name)
  const host = new TestHostProcess()
  const found: Outcome[] = []
  try {
    const tests = await testsReaching(host, name, drawn)
    for (const [i, mutant] of drawn.entries()) {
      const reaching = tests.filter(({ reached }) => mutant.within === null || reached.has(i))
      const ending = reaching.length === 0 ? 'untested' : await endingOf(host, mutant, reaching)
      found.push({ mutant, ending })
      process.stderr.write(`${ending}  ${mutant.file}:${mutant.line}  ${mutant.change}\n`)
    }
  } finally {
    await host.close()
  }
  return found
}

interface KnownTest {
  readonly test: string
  readonly cpuMs: number
  /** Indices of mutants. */
  readonly reached: ReadonlySet<number>
}

/** The tests that hold a package and pass here with the sources as they are, the quickest first: most mutants end with that one. */
async function testsReaching(host: TestHostProcess, name: string, mutants: readonly Mutant[]): Promise<KnownTest[]> {
  const files = [...new Set(mutants.map(({ file }) => file))]
  const sources = files.map((file) => {
    const ofFile = mutants.map((mutant) => (mutant.file === file ? mutant : { ...mutant, within: null }))
    return {
      file: path.join(root, file),
      text: markedSource(readFileSync(path.join(root, file), 'utf8'), ofFile, MARK),
    }
  })
  const related = new RelatedTests(root)
  const known: KnownTest[] = []
  const tests = [name, otherEnd[name] ?? []].flat().flatMap((each) => related.testsOf(each))
  for (const test of tests.filter((file) => file.includes(options.test))) {
    if (!files.some((file) => related.importersOf(path.join(root, file), [test]).length > 0)) continue
    const answer = await host.ask({ sources, tests: [test], limitCpuMs: MOST_CPU_MS })
    if (answer === 'timeout' || !answer.passed) {
      process.stderr.write(
        `left out, for it fails without a mutant: ${test}: ${answer === 'timeout' ? answer : answer.failure}\n`,
      )
    } else known.push({ test, cpuMs: answer.cpuMs, reached: new Set(answer.reached) })
  }
  return known.sort((a, b) => a.cpuMs - b.cpuMs)
}

function draw(name: string): Mutant[] {
  const folder = path.join('packages', name, 'src')
  const files = readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && path.posix.join('/', folder, file).includes(options.file))
    .sort()
  const all = files.flatMap((file) => {
    const place = path.join(folder, file)
    return mutantsOf(place, readFileSync(path.join(root, place), 'utf8')).filter(
      ({ line }) => line >= firstLine! && line <= lastLine!,
    )
  })
  const random = new SeededRandom(seedFrom(name, options.seed))
  return Array.from({ length: Math.min(perPackage, all.length) }, () => all.splice(random.integer(all.length), 1)[0]!)
}

async function endingOf(
  host: TestHostProcess,
  { file, start, end, replacement }: Mutant,
  tests: readonly KnownTest[],
): Promise<Outcome['ending']> {
  const source = readFileSync(path.join(root, file), 'utf8')
  const text = source.slice(0, start) + replacement + source.slice(end)
  const answer = await host.ask({
    sources: [{ file: path.join(root, file), text }],
    tests: tests.map(({ test }) => test),
    limitCpuMs: SPARE_CPU_MS + SLOWER * tests.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  })
  if (answer === 'timeout') return 'timeout'
  return answer.passed ? 'survived' : 'killed'
}
