/**
 * How much of the C library could change without its tests noticing: `tsx scripts/native-mutants.ts [seed] [count]`. Small changes
 * of its sources, drawn by the seed, each against the driver that `test/native-library.slow.test.ts` runs. Prints the survivors.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SeededRandom } from '@pctodl/numerics'
import { NativeDriver } from '../test/native-driver.js'

interface Change {
  readonly what: string
  readonly found: RegExp
  readonly instead: (found: string, ...groups: string[]) => string
}

const changes: readonly Change[] = [
  { what: 'comparison turned round', found: / (==|!=) /g, instead: (_, sign) => (sign === '==' ? ' != ' : ' == ') },
  {
    what: 'bound moved by one',
    found: / (<=?|>=?) (?=[\w(])/g,
    instead: (_, sign) => ` ${sign.length === 2 ? sign[0] : `${sign}=`} `,
  },
  { what: 'condition negated', found: /\bif \((?!!)/g, instead: () => 'if (!!0 * ' },
  { what: 'and for or', found: / (&&|\|\|) /g, instead: (_, sign) => (sign === '&&' ? ' || ' : ' && ') },
  { what: 'one more', found: / ([+-]) 1\b/g, instead: (_, sign) => ` ${sign} 2` },
  { what: 'sign changed', found: / ([+-]) (?=\w)/g, instead: (_, sign) => (sign === '+' ? ' - ' : ' + ') },
  { what: 'another result', found: /return NVML_SUCCESS;/g, instead: () => 'return NVML_ERROR_UNKNOWN;' },
  { what: 'success instead of an error', found: /return NVML_ERROR_\w+;/g, instead: () => 'return NVML_SUCCESS;' },
  { what: 'statement dropped', found: /^ {4,}[*\w>.[\]()-]+ (=|\+=|\|=) [^;{}]+;$/gm, instead: () => ';' },
  { what: 'call dropped', found: /^ {4,}(?!return)\w+\([^;{}]*\);$/gm, instead: () => ';' },
]

const [seed = '1', count = '50'] = process.argv.slice(2)
const sources = path.join(import.meta.dirname, '..', 'native')
const all = readdirSync(sources)
  .filter((name) => name.endsWith('.c') && name !== 'nvml_unsupported.c')
  .flatMap((name) => {
    const text = readFileSync(path.join(sources, name), 'utf8')
    return changes.flatMap(({ what, found, instead }) =>
      [...text.matchAll(found)].map((match) => ({
        name,
        what,
        line: text.slice(0, match.index).split('\n').length,
        text: `${text.slice(0, match.index)}${instead(match[0], ...match.slice(1))}${text.slice(match.index + match[0].length)}`,
      })),
    )
  })

const random = new SeededRandom(Number(seed))
const driver = new NativeDriver(sources)
const scratch = path.join(driver.folder, 'changed')
mkdirSync(scratch)
let noticed = 0
let drawn = 0
try {
  const refusal = (await driver.build()) ?? (await driver.link())
  if (refusal !== null) throw new Error(refusal)
  while (drawn < Number(count) && all.length > 0) {
    const [mutant] = all.splice(random.integer(all.length), 1)
    const original = path.join(sources, mutant!.name)
    const changed = path.join(scratch, mutant!.name)
    writeFileSync(changed, mutant!.text)
    // What does not compile is no change that a program could have.
    if ((await driver.compile(changed, sources)) === null && (await driver.link()) === null) {
      drawn++
      const rules = await driver.run('rules')
      const survives = rules.code === 0 && (await driver.run('random', '20', '1000')).code === 0
      if (survives) console.log(`${mutant!.name}:${mutant!.line}  ${mutant!.what}`)
      else noticed++
    }
    copyFileSync(original, changed)
    await driver.compile(original, sources)
  }
} finally {
  driver.remove()
}
console.log(`${noticed} of ${drawn} noticed, seed ${seed}`)
