/**
 * Turns the proof of a board into a change of this repository: its files are copied to `evidence/<board>/`, and its
 * fitted parameters become those that `@pctodl/perf-model` ships. `pnpm --filter @pctodl/gpu-sim validate FOLDER`
 * compares its rows with the simulated board.
 *
 *   node evidence/apply.mjs FOLDER
 *
 * Look at the change with `git diff`, and run the tests before you commit it.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const [folder, root = path.resolve(import.meta.dirname, '..')] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder that pctodl prove wrote')
const proof = JSON.parse(readFileSync(path.join(folder, 'proof.json'), 'utf8'))
if (proof.backend !== 'nvml') throw new Error(`${folder} is of a simulated board, which proves nothing`)
if (proof.evaluation === null) throw new Error(`${folder} is not evaluated: ${proof.notEvaluated}`)

const { key } = proof.board
const kept = path.join(root, 'evidence', key)
mkdirSync(kept, { recursive: true })
for (const name of [
  'rows.csv',
  'rows.static.csv',
  'rows.manifest.json',
  'sensor-step.json',
  'proof.json',
  'proof.md',
]) {
  if (existsSync(path.join(folder, name))) copyFileSync(path.join(folder, name), path.join(kept, name))
}
const parameters = path.join(root, 'packages/perf-model/params', `${key}.json`)
const isNew = !existsSync(parameters)
copyFileSync(path.join(folder, `${key}.json`), parameters)
console.log(`evidence/${key}/, packages/perf-model/params/${key}.json (${isNew ? 'new' : 'replaced'})`)

if (isNew) {
  const list = path.join(root, 'packages/perf-model/src/shipped-parameters.ts')
  const name = `board${key.replaceAll(/\W/g, '')}`
  const text = readFileSync(list, 'utf8')
    .replace(/(?=import \{ PerfModel)/, `import ${name} from '../params/${key}.json'\n`)
    .replace(/(shippedParameters: .* = \{.*?) \}/, `$1, '${key}': ${name} }`)
  writeFileSync(list, text)
  console.log('packages/perf-model/src/shipped-parameters.ts')
}
