import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { exitCodeOf } from '@pctodl/command-line'
import { loadPublishedParameters } from '@pctodl/published'
import { afterAll, describe, expect, it } from 'vitest'
import { pythonWith } from '../../../test/python-environment.js'
import { published } from '../src/commands.js'
import { TreeEnsemble } from '../src/predictor/tree-ensemble.js'

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-import-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const at = (...parts: readonly string[]) => path.join(folder, ...parts)

const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status === 0
const withSklearn = hasPython ? pythonWith(['scikit-learn==1.7.2', 'joblib==1.5.2'], ['sklearn', 'joblib']) : undefined

const fixture = (name: string, how: 'plain' | 'real', python = 'python3') =>
  JSON.parse(
    execFileSync(python, [path.join(import.meta.dirname, 'reference-fixture.py'), at(name), how], { encoding: 'utf8' }),
  )

async function call(...argv: readonly string[]) {
  const said = { stdout: '', stderr: '' }
  const code = await exitCodeOf('pctodl published', published, ['import', ...argv], {
    stdout: { write: (text) => (said.stdout += text) },
    stderr: { write: (text) => (said.stderr += text) },
    signal: new AbortController().signal,
    env: process.env,
  })
  return { code, ...said }
}

const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
const ensemblesOf = (out: string) =>
  JSON.parse(gunzipSync(readFileSync(at(out, 'gbr/resnet50.imagenet_a100_mem1215.json.gz'))).toString()).ensembles

describe.skipIf(!hasPython)('pctodl published import (needs Python 3.8 or later)', () => {
  it('makes of pickles what reference mode reads, and predicts from', async () => {
    fixture('plain', 'plain')
    const { code, stdout, stderr } = await call(at('plain'), '--out', at('plain-json'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`1 sets written to ${at('plain-json')}, 0 left out\n`)
    expect(json(at('plain-json', 'params/resnet50.imagenet_a100_mem1215.json'))).toMatchObject({
      sm_base: { lambda_sm: 0.25, gamma_sm: 0.5, beta_sm: 4.25 },
      sm_system: { alpha: 0.4, beta: 59.5, kappa: 2 },
      mem_base: { phi_mem: 51.5, alpha_mem: 0.75, lambda_mem: 1, beta_mem: -0.5 },
      mem_system: { k1: 0.125, k2: 0.5, alpha: 4.5, beta: 0.25, mu: 0.0625, tau: 16.5 },
      throughput: { kappa_b: 31.5, batch_aware_kappa: true },
    })
    expect(ensemblesOf('plain-json').sm).toMatchObject({
      init: 5,
      learning_rate: 0.1,
      n_features: 13,
      trees: [
        [
          [1, -1, -1],
          [10, -3, 7],
          [2, -1, -1],
        ],
      ],
    })
    const published = loadPublishedParameters(at('plain-json'))
    expect(published.sets).toEqual([{ model: 'resnet50', dataset: 'imagenet', platform: 'a100', memClockMhz: 1215 }])
    const selection = { model: 'resnet50', dataset: 'imagenet', platform: 'a100', memFreq: 1215 }
    const { throughput, powerW } = published.predictor(selection).predictAll([50], [16], 1200)
    expect(throughput).toBeGreaterThan(0)
    expect(powerW).toBeGreaterThan(0)
  })

  it('runs nothing of a pickle, and names what it refuses', async () => {
    fixture('evil', 'plain')
    const touched = at('touched')
    const file = at('evil', 'resnet50', 'mem_gbr_model_imagenet_a100_mem1215.pkl')
    writeFileSync(file, `cos\nsystem\n(S'touch ${touched}'\ntR.`)
    const { code, stdout, stderr } = await call(at('evil'), '--out', at('evil-json'), '--json')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /mem_gbr_model.*it names os\.system, which no the Python code file needs; nothing of it was run/,
    )
    expect(JSON.parse(stdout)).toMatchObject({ files: [], skipped: [{ set: 'resnet50.imagenet_a100_mem1215' }] })
    expect(existsSync(touched)).toBe(false)
    // It would have: the file is what it seems.
    execFileSync('python3', ['-c', 'import pickle, sys; pickle.load(open(sys.argv[1], "rb"))', file])
    expect(existsSync(touched)).toBe(true)
  })

  it('leaves out what is broken or hostile, each for its own reason, and converts the others', async () => {
    const broken = [
      ['torn-pth', 'sm_base_model.pth', 'not the archive that torch\\.save writes'],
      ['torn-pkl', 'power_dyn_anchor_gbr.pkl', 'cannot be read'],
      ['torn-json', 'throughput_params.json', 'cannot be read: JSONDecodeError'],
      ['meeting', 'sm_gbr_model.pkl', 'a tree whose branches meet again'],
      ['records', 'sm_gbr_model.pkl', 'records of 0 bytes'],
      ['laughs', 'sm_gbr_model.pkl', 'its loss is list'],
      ['circle', 'sm_gbr_model.pkl', 'learning_rate: a number expected'],
      ['bomb', 'sm_gbr_model.pkl', 'unpacks to more than 268435456 bytes'],
      ['nan-tree', 'sm_gbr_model.pkl', 'value: a number expected'],
      ['nan-json', 'throughput_params.json', 'gamma_t: a number expected'],
      ['list-json', 'power_params.json', 'an object expected'],
    ] as const
    fixture('hostile', 'plain')
    for (const [what, name] of broken) {
      cpSync(at('hostile', 'resnet50'), at('hostile', what), { recursive: true })
      const file = at('hostile', what, name.replace('.', '_imagenet_a100_mem1215.'))
      if (what.startsWith('torn')) writeFileSync(file, 'no such thing')
      else execFileSync('python3', [path.join(import.meta.dirname, 'hostile-file.py'), what, file])
    }
    const { code, stderr } = await call(at('hostile'), '--out', at('hostile-json'))
    for (const [what, name, reason] of broken) {
      expect(stderr).toMatch(new RegExp(`\\b${what}\\b.*${name.split('.')[0]}.*${reason}`))
    }
    expect(code).toBe(0)
    expect(json(at('hostile-json', 'index.json'))).toHaveLength(1)
  })

  it('writes through no link, and says what a folder without a set lacks', async () => {
    fixture('linked', 'plain')
    writeFileSync(at('other'), 'kept')
    mkdirSync(at('linked-json'))
    symlinkSync(at('other'), at('linked-json', 'index.json'))
    expect(await call(at('linked'), '--out', at('linked-json'))).toMatchObject({ code: 0 })
    expect(readFileSync(at('other'), 'utf8')).toBe('kept')
    expect(json(at('linked-json', 'index.json'))).toHaveLength(1)
    const { code, stderr } = await call(at('linked', 'resnet50'), '--out', at('none-json'))
    expect(stderr).toMatch(/resnet50 holds no <model>\/throughput_params/)
    expect(code).toBe(1)
  })

  it('names a folder that is not there, and a Python that is none', async () => {
    expect(await call(at('nowhere'))).toMatchObject({ code: 2, stderr: expect.stringMatching(/nowhere is not there/) })
    const { code, stderr } = await call(folder, '--python', at('no-python'))
    expect(stderr).toMatch(/no-python cannot be started; name a Python 3\.8 or later by --python/)
    expect(code).toBe(1)
  })
})

describe.skipIf(withSklearn === undefined)('pctodl published import (needs scikit-learn and joblib)', () => {
  it('predicts from files of joblib what scikit-learn predicts', async () => {
    const predictions = fixture('real', 'real', withSklearn)
    const { code, stderr } = await call(at('real'), '--out', at('real-json'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const kinds = {
      sm: 'sm_gbr_model',
      mem: 'mem_gbr_model',
      throughput: 'throughput_gbr_model',
      power: 'power_dyn_anchor_gbr',
    }
    for (const [name, kind] of Object.entries(kinds)) {
      const ensemble = new TreeEnsemble(ensemblesOf('real-json')[name], name)
      const { rows, values } = predictions[kind]
      rows.forEach((row: number[], i: number) => {
        expect(Math.abs(ensemble.predict(Float64Array.from(row)) / values[i] - 1)).toBeLessThan(1e-12)
      })
    }
  })
})
