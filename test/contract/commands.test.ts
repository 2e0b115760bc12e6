import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { partition } from '@pctodl/greedy-partition'
import { pctodlPartition } from '@pctodl/greedy-partition/commands'
import { planServices } from '@pctodl/greedy-partition/services'
import { parseDeploymentMap, placementConflict } from '@pctodl/mig-segments'
import { segments } from '@pctodl/mig-segments/commands'
import { loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { fit, predict } from '@pctodl/perf-model/commands'
import { formatTraceCsv } from '@pctodl/platform'
import { afterAll, describe, expect, it } from 'vitest'
import { callCommand } from '../call-command.js'
import { randomConfigurations, rowsOf } from './random-configurations.js'

const folder = mkdtempSync(path.join(tmpdir(), 'contract-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
const file = (name: string, text: string) => {
  writeFileSync(path.join(folder, name), text)
  return path.join(folder, name)
}
const words = (text: string) => text.split(' ')

describe('pctodl-partition', () => {
  const call = (text: string) => callCommand('pctodl-partition', pctodlPartition, words(text))

  it('answers what the library answers', async () => {
    const { code, stdout, stderr } = await call(
      '--model resnet50 --gpu 3080Ti --power-cap 180 --mps-step 20 --budget-evaluations 500 --json',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const said = JSON.parse(stdout)
    const best = partition(loadPerfModel('3080Ti'), {
      models: 'resnet50',
      powerCapW: 180,
      sharePercentStep: 20,
      budgetEvaluations: 500,
    })
    if (!best.feasible) throw new Error(best.message)
    expect(said).toMatchObject({ board: '3080Ti', feasible: true, configuration: best.configuration })
    const text = await call(
      '--model resnet50 --gpu 3080Ti --power-cap 180 --mps-step 20 --budget-evaluations 500 --explain',
    )
    expect(text.stdout).toContain(best.prediction.throughput.toFixed(1))
    expect(text.stdout).toContain(`${best.configuration.smClockMhz}`)
    for (const { mpsPercent, batchSize } of best.configuration.tenants)
      expect(text.stdout).toMatch(new RegExp(`\\b${mpsPercent} %? *.*\\b${batchSize}\\b`))
  })

  it('passes every option on', async () => {
    const bounds =
      '--latency-slo 40 --min-throughput 50 --max-tenants 3 --max-share 60 --max-batch 32 --power-margin 5 --mem-clock 9501 --budget-evaluations 300'
    const { stdout } = await call(
      `--model resnet50=2,vgg19 --gpu 3080Ti --power-cap 250 --mps-step 20 ${bounds} --json`,
    )
    const best = partition(loadPerfModel('3080Ti'), {
      models: [{ model: 'resnet50', weight: 2 }, { model: 'vgg19' }],
      ...{
        powerCapW: 250,
        sharePercentStep: 20,
        latencySloMs: 40,
        minTenantThroughput: 50,
        maxTenants: 3,
        maxSharePercent: 60,
      },
      ...{ maxBatchSize: 32, powerMarginW: 5, memClocksMhz: [9501], budgetEvaluations: 300 },
    })
    expect(JSON.parse(stdout)).toMatchObject(
      best.feasible ? { configuration: best.configuration } : { reason: best.reason },
    )
  })

  it('says which cap would do where none is found, and fails', async () => {
    const { code, stdout, stderr } = await call('--model vgg19 --gpu 3080Ti --power-cap 30')
    expect(code).toBe(1)
    expect(stdout + stderr).toMatch(/\d+(\.\d+)? W/)
    const json = await call('--model vgg19 --gpu 3080Ti --power-cap 30 --json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      feasible: false,
      reason: 'power-cap',
      lowestFeasibleCapW: expect.any(Number),
    })
  })

  it('plans for services of a file', async () => {
    const services = file(
      'services.yaml',
      '- { name: a, model: resnet50, rate: 300, p99Ms: 60 }\n- { name: b, model: vgg19, rate: 20, p99Ms: 200, weight: 3, maxBatch: 8 }\n'.replace(
        ', maxBatch: 8',
        '',
      ),
    )
    const { code, stdout, stderr } = await call(
      `--services ${services} --gpu 3080Ti --power-cap 250 --mps-step 20 --budget-evaluations 200 --objective least-power --json`,
    )
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const said = JSON.parse(stdout)
    expect(said).toMatchObject({ feasible: true })
    expect(said.configuration.tenants.map(({ service }: { service: string }) => service).sort()).toEqual(
      expect.arrayContaining(['a', 'b']),
    )
    const usual = { weight: 1, maxBatchSize: 32, maxQueueDelayMs: 0 }
    const best = planServices(
      loadPerfModel('3080Ti'),
      [
        { ...usual, name: 'a', model: 'resnet50', objective: { p99Ms: 60 } },
        { ...usual, name: 'b', model: 'vgg19', objective: { p99Ms: 200 }, weight: 3 },
      ],
      [300, 20],
      { objective: 'least-power', powerCapW: 250, sharePercentStep: 20, budgetEvaluations: 200 },
    )
    if (best.feasible) expect(said.prediction.powerW / best.prediction.powerW).toBeCloseTo(1, 1)
    const text = await call(
      `--services ${services} --gpu 3080Ti --power-cap 250 --mps-step 20 --budget-evaluations 200`,
    )
    expect(text.code).toBe(0)
    expect(text.stdout).toMatch(/resnet50/)
    expect(
      (
        await call(
          `--services ${file('bad.yaml', '- { name: a, model: resnet50, p99Ms: 60 }\n')} --gpu 3080Ti --power-cap 250`,
        )
      ).stderr,
    ).toMatch(/rate/)
  })

  it.each([
    ['--gpu 3080Ti --power-cap 180', /model/],
    ['--model resnet50 --power-cap 180', /gpu|platform/],
    ['--model nobody --gpu 3080Ti --power-cap 180', /nobody/],
    ['--model resnet50 --gpu nothing --power-cap 180', /nothing/],
    ['--model resnet50 --gpu 3080Ti --power-cap -1', /power-cap/],
    ['--model resnet50 --gpu 3080Ti --power-cap 180 --mps-step 0', /mps-step/],
    ['--model resnet50=0 --gpu 3080Ti --power-cap 180', /model/],
    ['--model resnet50 --gpu 3080Ti --power-cap 180 --risk 0.9', /risk/],
    ['--model resnet50 --gpu 3080Ti --power-cap 180 --rate-margin 2', /rate-margin/],
  ])('refuses %s', async (text, message) => {
    const { code, stderr, stdout } = await call(text)
    expect(code).toBeGreaterThan(0)
    expect(stdout).toBe('')
    expect(stderr).toMatch(message)
  })
})

describe('pctodl-predict and pctodl-fit', () => {
  it('predict what the library predicts', async () => {
    const usual = '--gpu A100 --model resnet50 vgg19 --p 50 25 --b 16 8 --f 1200'
    const call = (text: string) => callCommand('pctodl-predict', predict, words(text))
    const { code, stdout } = await call(`${usual} --json`)
    expect(code).toBe(0)
    const tenants = [
      { model: 'resnet50', mpsPercent: 50, batchSize: 16 },
      { model: 'vgg19', mpsPercent: 25, batchSize: 8 },
    ]
    const best = loadPerfModel('A100').predict({ tenants, smClockMhz: 1200, memClockMhz: 1215 })
    expect(JSON.parse(stdout).prediction).toEqual(best)
    expect((await call(usual)).stdout).toContain(best.throughput.toFixed(2))
    expect((await call(`${usual} --f 9`)).code).toBeGreaterThan(0)
    expect((await call('--gpu A100 --model resnet50 --p 50 --b 16 8 --f 1200')).stderr).toMatch(/--b/)
  })

  it('fit rows of a file to parameters that then predict them', async () => {
    const truth = loadPerfModel('A100')
    const rows = rowsOf(truth, randomConfigurations(truth, 90, 5, ['resnet50']))
    const trace = file('trace.csv', formatTraceCsv(rows))
    const { code, stdout, stderr } = await callCommand(
      'pctodl-fit',
      fit,
      words(`${trace} --gpu A100 --folds 0 --starts 1 --params ${folder} --json`),
    )
    expect({ code, stderr: /rror/.test(stderr) }).toEqual({ code: 0, stderr: false })
    expect(JSON.parse(stdout)).toMatchObject({})
    const model = PerfModel.load(JSON.parse(readFileSync(path.join(folder, 'A100.json'), 'utf8')))
    const errors = rows.map((row) => Math.abs(model.predict(row).throughput / row.throughput - 1)).sort((a, b) => a - b)
    expect(errors[45]).toBeLessThan(0.02)
    const again = await callCommand(
      'pctodl-predict',
      predict,
      words(`--params ${folder} --gpu A100 --model resnet50 --p 50 --b 16 --f 1200 --json`),
    )
    const tenants = [{ model: 'resnet50', mpsPercent: 50, batchSize: 16 }]
    expect(JSON.parse(again.stdout).prediction).toEqual(model.predict({ tenants, smClockMhz: 1200, memClockMhz: 1215 }))
    expect((await callCommand('pctodl-fit', fit, words(`${folder}/none.csv --gpu A100`))).stderr).toMatch(/none\.csv/)
  })
})

describe('pctodl-segments', () => {
  const call = (text: string) => callCommand('pctodl-segments', segments, words(text))
  const out = path.join(folder, 'deployment')

  it('writes a map of what it says', async () => {
    const { code, stdout } = await call(`2 --output ${out} --json --strict --mig-parted --picture`)
    expect(code).toBe(0)
    const said = JSON.parse(stdout)
    const written = readdirSync(path.join(out, 'SLO2'))
    const map = parseDeploymentMap(
      readFileSync(path.join(out, 'SLO2', 'SLO2_ParvaGPU_deploy.csv'), 'utf8'),
      'map.csv' as never,
    )
    for (const { segments: placed } of map) expect(placementConflict(placed as never)).toBeNull()
    expect(map.length).toBe(said.gpuCount ?? said.gpus?.length ?? map.length)
    expect(written).toEqual(expect.arrayContaining(['map.svg', 'mig-parted.yaml']))
    const explained = await call(`2 --output ${out} --explain`)
    expect(explained.stdout).toMatch(/GPUs/)
    const heuristic = await call(`2 --output ${out}-h --json --algorithm heuristic`)
    const published = await call(`2 --output ${out}-p --json --algorithm published`)
    expect([heuristic.code, published.code]).toEqual([0, 0])
  })

  it('replans, follows a day, and plans by the tail', async () => {
    await call(`2 --output ${out}`)
    const map = path.join(out, 'SLO2', 'SLO2_ParvaGPU_deploy.csv')
    const changed = await call(`replan 3 --from ${map} --output ${out}-r --json`)
    expect(changed.stderr).toBe('')
    expect(changed.code).toBe(0)
    expect(JSON.parse(changed.stdout)).toBeTypeOf('object')
    const tail = await call(`2 --gate tail --output ${out}-t --json`)
    expect(tail.code).toBe(0)
  })

  it.each([
    ['99', /99|row/],
    ['2 --gpu B200', /B200/],
    ['2 --nodes 1 --gpus-per-node 1 --rate-factor 20', /GPUs/],
    ['2 --latency-share 2', /latency-share/],
    ['2 --algorithm best', /algorithm/],
    ['replan 2', /--from|from/],
  ])('refuses %s', async (text, message) => {
    const { code, stderr } = await call(`${text} --output ${out}-x`)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toMatch(message)
  })
})
