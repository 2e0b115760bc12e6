/**
 * Measures how much of the core could change without a failing test (mutation testing). Small random changes of the
 * sources are drawn with a seed. Each mutant runs against the tests that reach the changed code: tests of its package,
 * of the package at the other end of a protocol, and of the contract (`test/contract`). Processes that a test starts
 * run the unchanged code.
 *
 * Prints each surviving mutant with its place and change. A survivor is either behaviour that no test checks, or a
 * change without effect.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { type Mutant, markedSource, mutantsOf } from './mutants/mutants-of.js'
import { type KnownTests, otherCases, reachingTests } from './mutants/reaching-tests.js'
import { TestHostProcess } from './mutants/test-host-process.js'
import { MARK, type RequestedTests } from './mutants/test-host-protocol.js'
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

/** Another package whose tests also check a package: the tests of the node service use nvml-control's client. */
const otherEnd: Readonly<Record<string, string>> = { 'nvml-control': 'node-service' }

/** CPU time that a mutant may use beyond a multiple of its tests' normal CPU time, ms. */
const SPARE_CPU_MS = 10_000
const SLOWER = 4
const MAX_CPU_MS = 10 * 60_000

const help = `Usage: pnpm mutants [options]

  --seed <n>             of the sample (default: 1)
  --count <n>            mutants, the same number of each package (default: 80)
  --package <name,...>   default: ${corePackages.join(',')}
  --file <text>          only sources whose path has it in it
  --lines <from>-<to>    only these lines of each
  --test <text,...>      against those tests only whose path has one of them in it: what new tests notice
  --json                 every mutant with its ending, as JSON
  --keep <file.json>     add the share noticed and the survivors of each package to this file
  --least                fail where a package's share is below that in scripts/mutants/least-noticed.json

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
    keep: { type: 'string' },
    least: { type: 'boolean', default: false },
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

const results = packages.map((name) => resultOf(name))
if (options.keep !== undefined) {
  const before = existsSync(options.keep) ? (JSON.parse(readFileSync(options.keep, 'utf8')) as unknown[]) : []
  writeFileSync(options.keep, `${JSON.stringify([...before, ...results], null, 2)}\n`)
}
if (options.least) {
  const least = JSON.parse(readFileSync(path.join(root, 'scripts/mutants/least-noticed.json'), 'utf8')) as Record<
    string,
    number
  >
  for (const { package: name, noticed, drawn } of results) {
    const percent = (100 * noticed) / Math.max(1, drawn)
    if (percent >= (least[name] ?? 0)) continue
    console.error(`${name}: ${percent.toFixed(0)} % noticed, at least ${least[name]} % are to be`)
    process.exitCode = 1
  }
}

/** Results of one package, reduced to what is worth storing. */
function resultOf(name: string) {
  const own = outcomes.filter(({ mutant }) => mutant.file.startsWith(path.join('packages', name, path.sep)))
  const left = own.filter(({ ending }) => ending === 'survived' || ending === 'untested')
  return {
    package: name,
    seed: options.seed,
    tests: options.test || 'all',
    drawn: own.length,
    noticed: own.length - left.length,
    survivors: left.map(({ mutant: { file, line, change }, ending }) => `${file}:${line}  ${change}  (${ending})`),
  }
}

async function outcomesOf(name: string): Promise<Outcome[]> {
  const drawn = draw(name)
  const host = new TestHostProcess()
  const found: Outcome[] = []
  try {
    const known = await knownTests(host, name, drawn)
    for (const [i, mutant] of drawn.entries()) {
      const tests = reachingTests(known, mutant.within === null ? null : i)
      const ending =
        tests.length === 0
          ? 'untested'
          : await endingOf(host, mutant, tests, otherCases(known, tests), limitOf(tests, known))
      found.push({ mutant, ending })
      process.stderr.write(`${ending}  ${mutant.file}:${mutant.line}  ${mutant.change}\n`)
    }
  } finally {
    await host.close()
  }
  return found
}

/** Runs the tests of a package on the unchanged sources, and returns those that pass here. */
async function knownTests(host: TestHostProcess, name: string, mutants: readonly Mutant[]): Promise<KnownTests[]> {
  const files = [...new Set(mutants.map(({ file }) => file))]
  const sources = files.map((file) => {
    const ofFile = mutants.map((mutant) => (mutant.file === file ? mutant : { ...mutant, within: null }))
    return {
      file: path.join(root, file),
      text: markedSource(readFileSync(path.join(root, file), 'utf8'), ofFile, MARK),
    }
  })
  const related = new RelatedTests(root)
  const known: KnownTests[] = []
  const ofPackages = [name, otherEnd[name] ?? []].flat().flatMap((each) => related.testsOf(each))
  const tests = [...ofPackages, ...related.testsIn('.').filter((file) => file.includes('/test/contract/'))]
  for (const test of tests.filter((file) => options.test.split(',').some((part) => file.includes(part)))) {
    if (!files.some((file) => related.importersOf(path.join(root, file), [test]).length > 0)) continue
    const answer = await host.ask({ sources, tests: [{ file: test }], limitCpuMs: MAX_CPU_MS })
    if (answer === 'timeout' || !answer.passed) {
      process.stderr.write(
        `left out, for it fails without a mutant: ${test}: ${answer === 'timeout' ? answer : answer.failure}\n`,
      )
    } else known.push({ file: test, answer })
  }
  return known
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

function limitOf(tests: readonly RequestedTests[], known: readonly KnownTests[]): number {
  const asked = new Set(tests.map(({ file }) => file))
  return known.reduce((sum, { file, answer }) => sum + (asked.has(file) ? SLOWER * answer.cpuMs : 0), SPARE_CPU_MS)
}

/** @param rest tests to run if `tests` do not detect the mutant */
async function endingOf(
  host: TestHostProcess,
  mutant: Mutant,
  tests: readonly RequestedTests[],
  rest: readonly RequestedTests[],
  limitCpuMs: number,
): Promise<Outcome['ending']> {
  const file = path.join(root, mutant.file)
  const source = readFileSync(file, 'utf8')
  const text = source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end)
  const answer = await host.ask({ sources: [{ file, text }], tests, limitCpuMs })
  if (answer === 'timeout') return 'timeout'
  if (!answer.passed) return 'killed'
  return rest.length === 0 ? 'survived' : endingOf(host, mutant, rest, [], limitCpuMs)
}
