/**
 * Measures how much of the core could change without a failing test (mutation testing). Small random changes of the
 * sources are drawn with a seed. Each mutant runs against the tests that reach the changed code: tests of its package,
 * of the package at the other end of a protocol, and of the contract (`test/contract`). Processes that a test starts
 * run the unchanged code.
 *
 * Prints each surviving mutant with its place and change. A survivor is either behaviour that no test checks, or a
 * change without effect.
 *
 *   pnpm mutants [options]
 *
 *   --seed <n>             seed of the sample (default: 1)
 *   --count <n>            number of mutants, the same for each package (default: 80)
 *   --package <name,...>   default: all eight of the core
 *   --file <text>          only sources whose path contains the text
 *   --lines <from>-<to>    only these lines of each source
 *   --test <text,...>      only tests whose path contains one of the texts
 *   --json                 print every mutant with its outcome as JSON
 *   --least                fail if the tests of a package detect a smaller share of its mutants than they must
 *
 * A package has the same mutants alone as in a sample of all eight: --package x --count 38, --count 304.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { SeededRandom, seedFrom } from '@pctodl/numerics'
import { scriptOptions } from './evaluation/script-options.js'
import { type Mutant, markedSource, mutantsOf } from './mutants/mutants-of.js'
import { MARK, runTests, type TestAnswer } from './mutants/run-tests.js'

/** The packages of the core, with the percentage of mutants that their tests must detect. */
const corePackages: Readonly<Record<string, number>> = {
  'thermo-dvfs': 75,
  'perf-model': 75,
  'greedy-partition': 75,
  scheduler: 75,
  'nvml-control': 75,
  tenants: 60,
  'mig-segments': 68,
  colocation: 75,
}

/** Another package whose tests also check a package: the tests of the node service use nvml-control's client. */
const otherEnd: Readonly<Record<string, string>> = { 'nvml-control': 'node-service' }

/** CPU time that a mutant may use beyond a multiple of its tests' normal CPU time, s. */
const SPARE_CPU_S = 10
const SLOWER = 4
const MAX_CPU_S = 600

const root = path.resolve(import.meta.dirname, '..')
const options = scriptOptions(import.meta.filename, {
  seed: 1,
  count: 80,
  package: Object.keys(corePackages).join(','),
  file: '',
  lines: `1-${Number.MAX_SAFE_INTEGER}`,
  test: '',
  json: false,
  least: false,
})
const [firstLine, lastLine = firstLine] = options.lines.split('-').map(Number)

interface Outcome {
  readonly mutant: Mutant
  readonly ending: 'killed' | 'timeout' | 'survived' | 'untested'
}

const packages = options.package.split(',')
const perPackage = Math.ceil(options.count / packages.length)
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

for (const name of options.least ? packages : []) {
  const isOwn = ({ mutant }: Outcome) => mutant.file.startsWith(path.join('packages', name, path.sep))
  const drawn = outcomes.filter(isOwn).length
  const percent = (100 * (drawn - survivors.filter(isOwn).length)) / Math.max(1, drawn)
  const least = corePackages[name] ?? 0
  if (percent >= least) continue
  console.error(`${name}: ${percent.toFixed(0)} % detected, expected at least ${least} %`)
  process.exitCode = 1
}

async function outcomesOf(name: string): Promise<Outcome[]> {
  const drawn = draw(name)
  const known = await knownTests(name, drawn)
  const found: Outcome[] = []
  for (const [i, mutant] of drawn.entries()) {
    const tests = known.filter(({ answer }) => mutant.within === null || answer.reached.includes(i))
    const ending = tests.length === 0 ? 'untested' : await endingOf(mutant, tests)
    found.push({ mutant, ending })
    process.stderr.write(`${ending}  ${mutant.file}:${mutant.line}  ${mutant.change}\n`)
  }
  return found
}

/** A test file, with the mutants that it reaches and its CPU time. */
interface KnownTest {
  readonly file: string
  readonly answer: TestAnswer
}

/**
 * Runs the tests of a package on the unchanged sources. Returns those that pass, those with the least CPU time first,
 * because the first tests detect most mutants.
 */
async function knownTests(name: string, mutants: readonly Mutant[]): Promise<KnownTest[]> {
  const files = [...new Set(mutants.map(({ file }) => file))]
  const sources = files.map((file) => {
    const ofFile = mutants.map((mutant) => (mutant.file === file ? mutant : { ...mutant, within: null }))
    return {
      file: path.join(root, file),
      text: markedSource(readFileSync(path.join(root, file), 'utf8'), ofFile, MARK),
    }
  })
  const folders = [name, otherEnd[name] ?? []].flat().map((each) => `packages/${each}/test`)
  const tests = [...folders, 'test/contract'].flatMap((folder) => filesIn(folder, '.test.ts'))
  const known: KnownTest[] = []
  for (const test of tests.filter((file) => options.test.split(',').some((part) => file.includes(part)))) {
    const file = path.join(root, test)
    const answer = await runTests(sources, [file], MAX_CPU_S)
    if (answer.ending === 'passed') known.push({ file, answer })
    else process.stderr.write(`not used, because it fails without a mutant: ${test}\n`)
  }
  return known.sort((a, b) => a.answer.cpuS - b.answer.cpuS)
}

/** Files with an ending in a folder, relative to the root. */
function filesIn(folder: string, ending: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .sort()
    .map((file) => path.join(folder, file))
}

function draw(name: string): Mutant[] {
  const all = filesIn(`packages/${name}/src`, '.ts')
    .filter((file) => `/${file}`.includes(options.file))
    .flatMap((file) => mutantsOf(file, readFileSync(path.join(root, file), 'utf8')))
    .filter(({ line }) => line >= firstLine! && line <= lastLine!)
  const random = new SeededRandom(seedFrom(name, options.seed))
  return Array.from({ length: Math.min(perPackage, all.length) }, () => all.splice(random.integer(all.length), 1)[0]!)
}

async function endingOf(mutant: Mutant, tests: readonly KnownTest[]): Promise<Outcome['ending']> {
  const file = path.join(root, mutant.file)
  const source = readFileSync(file, 'utf8')
  const text = source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end)
  const limitCpuS = tests.reduce((sum, { answer }) => sum + SLOWER * answer.cpuS, SPARE_CPU_S)
  const { ending } = await runTests(
    [{ file, text }],
    tests.map((test) => test.file),
    limitCpuS,
  )
  return ({ passed: 'survived', failed: 'killed', timeout: 'timeout' } as const)[ending]
}
