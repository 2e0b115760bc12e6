import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { partition } from '@pctodl/greedy-partition'
import { pctodlPartition } from '@pctodl/greedy-partition/commands'
import { planServices } from '@pctodl/greedy-partition/services'
import { segments } from '@pctodl/mig-segments/commands'
import { parseDeploymentMap } from '@pctodl/mig-segments/deploy'
import { loadPerfModel, PerfModel } from '@pctodl/perf-model'
import { fit, predict } from '@pctodl/perf-model/commands'
import { formatTraceCsv, placementConflict } from '@pctodl/platform'
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

describe('pctodl partition', () => {
  const call = (text: string) => callCommand('pctodl partition', pctodlPartition, words(text))

  it('answers what the library answers', async () => {
    const { code, stdout, stderr } = await call(
      '--model resnet50 --gpu 3080Ti --power-cap 180 --mps-step 20 --budget-evaluations 500 --json',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const said = JSON.parse(stdout)
    const best = partition(loadPerfModel('3080Ti'), {
      models: 'resnet50',
      objective: 'few-processes',
      capExceedanceProbability: 0.05,
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
      '--latency-slo 40 --min-throughput 50 --max-tenants 3 --max-share 60 --max-batch 32 --power-margin 5 --mem-clock 9501 --budget-evaluations 300 --objective throughput'
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
      `--services ${services} --gpu 3080Ti --power-cap 250 --mps-step 20 --budget-evaluations 200 --objective min-power --json`,
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
      { objective: 'min-power', powerCapW: 250, sharePercentStep: 20, budgetEvaluations: 200 },
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

describe('pctodl predict and pctodl fit', () => {
  it('predict what the library predicts', async () => {
    const usual = '--gpu A100 --model resnet50 vgg19 --p 50 25 --b 16 8 --f 1200'
    const call = (text: string) => callCommand('pctodl predict', predict, words(text))
    const { code, stdout } = await call(`${usual} --json`)
    expect(code).toBe(0)
    const tenants = [
      { model: 'resnet50', mpsPercent: 50, batchSize: 16 },
      { model: 'vgg19', mpsPercent: 25, batchSize: 8 },
    ]
    const best = loadPerfModel('A100').predict({ tenants, smClockMhz: 1200, memClockMhz: 1215 })
    expect(JSON.parse(stdout).prediction).toEqual(JSON.parse(JSON.stringify(best)))
    expect((await call(usual)).stdout).toContain(best.throughput.toFixed(2))
    expect((await call(`${usual} --f 9`)).code).toBeGreaterThan(0)
    expect((await call('--gpu A100 --model resnet50 --p 50 --b 16 8 --f 1200')).stderr).toMatch(/--b/)
  })

  it('fit rows of a file to parameters that then predict them', async () => {
    const truth = loadPerfModel('A100')
    const rows = rowsOf(truth, randomConfigurations(truth, 90, 5, ['resnet50']))
    const trace = file('trace.csv', formatTraceCsv(rows))
    const { code, stdout, stderr } = await callCommand(
      'pctodl fit',
      fit,
      words(`${trace} --gpu A100 --folds 0 --starts 1 --params ${folder} --json`),
    )
    expect({ code, stderr: /rror/.test(stderr) }).toEqual({ code: 0, stderr: false })
    expect(JSON.parse(stdout)).toMatchObject({})
    const model = PerfModel.load(JSON.parse(readFileSync(path.join(folder, 'A100.json'), 'utf8')))
    const errors = rows.map((row) => Math.abs(model.predict(row).throughput / row.throughput - 1)).sort((a, b) => a - b)
    expect(errors[45]).toBeLessThan(0.02)
    const again = await callCommand(
      'pctodl predict',
      predict,
      words(`--params ${folder} --gpu A100 --model resnet50 --p 50 --b 16 --f 1200 --json`),
    )
    const tenants = [{ model: 'resnet50', mpsPercent: 50, batchSize: 16 }]
    const predicted = model.predict({ tenants, smClockMhz: 1200, memClockMhz: 1215 })
    expect(JSON.parse(again.stdout).prediction).toEqual(JSON.parse(JSON.stringify(predicted)))
    expect((await callCommand('pctodl fit', fit, words(`${folder}/none.csv --gpu A100`))).stderr).toMatch(/none\.csv/)
  })
})

describe('pctodl segments', () => {
  const call = (text: string) => callCommand('pctodl segments', segments, words(text))
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
  })

  it('replans', async () => {
    const map = path.join(out, 'SLO2', 'SLO2_ParvaGPU_deploy.csv')
    const changed = await call(`plan 3 --from ${map} --output ${out}-r --json`)
    expect(changed.stderr).toBe('')
    expect(changed.code).toBe(0)
    expect(JSON.parse(changed.stdout)).toBeTypeOf('object')
  })

  it.each([
    ['99', /99|row/],
    ['2 --gpu B200', /B200/],
    ['2 --nodes 1 --gpus-per-node 1 --rate-factor 20', /GPUs/],
    ['2 --latency-share 2', /latency-share/],
    ['2 --gate best', /not one of latency, tail/],
  ])('refuses %s', async (text, message) => {
    const { code, stderr } = await call(`${text} --output ${out}-x`)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toMatch(message)
  })
})

describe('pctodl segments of fleets and days', () => {
  const call = (text: string) => callCommand('pctodl segments', segments, words(text))
  const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency,Power'
  const rates = { net: 900, other: 400 }
  /** Two networks on a type of board, and how often they are asked for, in three rows. */
  function asked(): { readonly fleet: string; readonly own: string } {
    const rows = [1, 2, 3, 4, 7].flatMap((size) => [
      `${size},8,1,${100 * size ** 0.95},${0.05},${20 * size}`,
      `${size},4,2,${48 * size},${0.06},${22 * size}`,
    ])
    for (const folderName of ['rows', 'asked']) mkdirSync(path.join(folder, folderName), { recursive: true })
    for (const name of Object.keys(rates)) file(`rows/${name}.csv`, [header, ...rows, ''].join('\n'))
    file('asked/SLO_req_rate.csv', 'net,other\n900,400\n300,400\n1500,100\n')
    file('asked/SLO_latency.csv', 'net,other\n500,400\n500,400\n500,400\n')
    const fleet = file('fleet.yaml', 'groups:\n  - gpu: A100-80GB\n    profiles: ./rows\n    idleW: 60\n    price: 2\n')
    return { fleet, own: `--slo ${folder}/asked` }
  }
  const number = (text: string, of: RegExp) => Number(of.exec(text)![1])

  it('say what they cost, draw and move', async () => {
    const { fleet, own } = asked()
    const to = `--output ${folder}/fleets`
    const planned = await call(`plan 1 --fleet ${fleet} ${own} ${to} --json`)
    expect([planned.code, planned.stderr]).toEqual([0, ''])
    const plan = JSON.parse(planned.stdout)
    expect(plan.cost).toBe(2 * plan.boards.length)
    expect(plan.cost).toBe(plan.lowerBoundCost)
    for (const { model, capacity } of plan.served) expect(capacity).toBeGreaterThanOrEqual(rates[model as 'net'])
    const text = await call(`plan 1 --fleet ${fleet} ${own} ${to}`)
    expect(number(text.stdout, /cost (\d+)/)).toBe(plan.cost)
    expect(text.stdout).toContain(`${Math.round(plan.powerW)} W`)
    const map = `${folder}/fleets/SLO1/fleet.csv`
    const same = JSON.parse((await call(`plan 1 --fleet ${fleet} ${own} ${to} --from ${map} --json`)).stdout)
    expect([same.created, same.removed, same.restarted]).toEqual([0, 0, 0])
    const less = await call(`plan 2 --fleet ${fleet} ${own} ${to} --from ${map} --consolidate --json`)
    expect(JSON.parse(less.stdout).cost).toBeLessThanOrEqual(plan.cost)
    expect((await call(`plan 1 --fleet ${fleet} ${own} ${to} --burstiness 2`)).code).toBe(2)
    expect((await call(`plan 1 --fleet ${folder}/none.yaml ${own} ${to}`)).stderr).toMatch(/none\.yaml/)
    const bad = file('bad.yaml', 'groups:\n  - gpu: A100-80GB\n    profiles: ./rows\n    price: -1\n')
    expect((await call(`plan 1 --fleet ${bad} ${own} ${to}`)).stderr).toMatch(/price/)
  })

  it('are planned, changed and followed over a day', async () => {
    const { own } = asked()
    const usual = `--gpu A100-80GB --profiles ${folder}/rows ${own} --output ${folder}/plans`
    const capped = JSON.parse((await call(`1 ${usual} --power-cap 150 --idle-power 60 --json`)).stdout)
    expect(capped.power.highestW).toBeLessThanOrEqual(150)
    const plan = JSON.parse((await call(`1 ${usual} --json`)).stdout)
    expect(plan.gpuCount).toBeLessThanOrEqual(capped.gpuCount)
    const text = (await call(`1 ${usual} --explain`)).stdout
    expect(number(text, /(\d+) GPUs?/)).toBe(plan.gpuCount)
    const map = `${folder}/plans/SLO1/SLO1_ParvaGPU_deploy.csv`
    const next = JSON.parse((await call(`plan 2 ${usual} --from ${map} --json`)).stdout)
    expect(next.created).toBeLessThanOrEqual(1)
    expect(next.removed).toBeGreaterThan(0)
    const shown = (await call(`plan 2 ${usual} --from ${map}`)).stdout
    expect(shown).toContain(`${next.removed} removed`)
    const day = await call(`schedule ${usual} --idle-power 60 --parked-power 20 --json`)
    expect([day.code, day.stderr]).toEqual([0, ''])
    const schedule = JSON.parse(day.stdout)
    expect(schedule.energyJ).toBeLessThanOrEqual(schedule.staticPlan.energyJ)
    expect(schedule.energyJ).toBeGreaterThanOrEqual(schedule.lowerBoundJ)
    expect((await call(`schedule ${usual} --idle-power 60 --parked-power 20`)).stdout).toMatch(/kWh|J/)
    expect((await call(`1 ${usual} --power-cap 150`)).stderr).toMatch(/idle-power/)
    expect((await call(`1 ${usual} --rate-factor 0`)).stderr).toMatch(/rate-factor/)
  })
})
