import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pctodlPartition } from '@pctodl/greedy-partition/commands'
import { segments } from '@pctodl/mig-segments/commands'
import { exportOnnx } from '@pctodl/model-zoo'
import { loadPerfModel } from '@pctodl/perf-model'
import { fit, llm, pctodlAddNetwork, predict } from '@pctodl/perf-model/commands'
import { formatTraceCsv } from '@pctodl/platform'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { callCommand } from '../call-command.js'
import { crowdOf, randomConfigurations, rowsOf } from './random-configurations.js'
import { digest, expectStored, said } from './stored.js'

const folder = mkdtempSync(path.join(tmpdir(), 'contract-'))
const before = { PATH: process.env['PATH'], PCTODL_LEASE_DIR: process.env['PCTODL_LEASE_DIR'] }
beforeAll(() => {
  process.env['PATH'] = `${folder}/bin:${before.PATH}`
  process.env['PCTODL_LEASE_DIR'] = `${folder}/leases`
})
afterAll(() => {
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

function put(name: string, text: string | Uint8Array): string {
  const file = path.join(folder, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

/** What a command says, with its numbers to seven digits, without the times that it took and the folder of this test. */
function settled(text: string): string {
  return text
    .replaceAll(folder, '<folder>')
    .replace(/"elapsedMs": [\d.e-]+/g, '')
    .replace(/(evaluations|layouts) in [\d.]+ ms/g, '$1')
    .replace(/"version": "[^"]+"|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '')
    .replace(/-?\d+\.\d{6,}(e-?\d+)?/g, (number) => said(Number(number)))
}

/** Files of a folder, by name, each as a digest. */
function filesOf(place: string): string {
  if (!existsSync(place)) return ''
  const names = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(path.join(place, name)).isFile(),
  )
  const texts = names.sort().map((name) => [name, settled(readFileSync(path.join(place, name), 'utf8'))])
  return texts.length === 0 ? '' : ` files ${texts.length} ${digest(texts)}`
}

type Command = Parameters<typeof callCommand>[1]

async function lineOf(name: string, command: Command, text: string, output?: string): Promise<string> {
  const { code, stdout, stderr } = await callCommand(`pctodl ${name}`, command, text.split(' '))
  const [first = ''] = settled(stderr || stdout.replace(/^[{[\s].*/s, '')).split('\n')
  return `${name} ${settled(text)}: ${code} ${first.slice(0, 160)} ${digest([settled(stdout), settled(stderr)])}${output ? filesOf(output) : ''}`
}

describe('the same words as before', () => {
  it('are said of predictions', async () => {
    const truth = loadPerfModel('A100')
    const rows = rowsOf(truth, randomConfigurations(truth, 30, 5, ['resnet50']))
    const trace = put('mps_profile/mps_results_a100.csv', formatTraceCsv([...rows, { ...rows[0]!, failed: true }]))
    const detector = rowsOf(truth, crowdOf(truth, 'alone', 6, 2)).map((row) => ({
      ...row,
      tenants: row.tenants.map((each) => ({ ...each, model: 'detector' })),
    }))
    const seen = put('detector.csv', formatTraceCsv(detector))
    const onnx = put('detector.onnx', exportOnnx('mnasnet1_0', { weights: 'external' }).model)
    put('bin/nvidia-smi', smiScript)
    chmodSync(path.join(folder, 'bin/nvidia-smi'), 0o755)
    const config = put(
      'config.json',
      JSON.stringify({
        ...{ model_type: 'llama', hidden_size: 4096, intermediate_size: 14336, num_hidden_layers: 32 },
        ...{ num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256, max_position_embeddings: 8192 },
      }),
    )
    const mix = '--model resnet50 vgg19 --p 50 25 --b 16 8'
    const fitted = path.join(folder, 'fitted')
    const added = path.join(folder, 'added')
    const calls: readonly (readonly [string, Command, string, string?])[] = [
      ...[
        `--gpu A100 ${mix} --f 1200`,
        `--gpu 3080Ti ${mix} --mem-clock 5001 --json`,
        '--gpu A100 --model resnet50 --p 100 1 --b 256 1',
        '--gpu A100 --model vgg19 --p 0.5 --b 256 --f 210',
        `--gpu 3080Ti --model vgg19 --p ${'10 '.repeat(10)}--b ${'256 '.repeat(9)}256`,
        `${mix} --gpu-mem-freq`,
        `--gpu A100 --model all --test ${trace} --sample 12 --seed 4`,
        `--gpu A100 --model resnet50 --test ${trace} --json`,
        `--gpu A100 ${mix} --plot ${folder}/clock.svg`,
        `--gpu A100 ${mix} --f 5000`,
        `--gpu A100 ${mix} --gpu-mem-freq --mem-clock 1215`,
        '--gpu A100 --model all --p 50 --b 1',
        '--gpu A100 --model resnet50 vgg19 x --p 50 20 --b 1 1',
        '--gpu A100 --model resnet50',
        `--gpu A100 --model vgg19 --test ${trace}`,
        `--gpu A100 --model all --test ${trace} --plot ${folder}/x.svg`,
        `--gpu T4 ${mix}`,
      ].map((text) => ['predict', predict, text] as const),
      ['fit', fit, `${trace} --gpu A100 --folds 2 --starts 1 --params ${fitted} --plot ${fitted}.svg`],
      ['fit', fit, `${trace} --gpu A100 --model vgg19`],
      ['fit', fit, `${trace} --gpu A100 --step sm`],
      ['fit', fit, `${trace} --gpu A100 --folds 1`],
      ['fit', fit, `${trace}`],
      ['fit', fit, `${trace} --gpu A100 --mem-clock 877 --folds 0`],
      ['predict', predict, `--params ${fitted} --gpu A100 --model resnet50 --p 50 --b 16 --f 1200`],
      ['add-network', pctodlAddNetwork, `${onnx} --gpu A100 --params ${added}`, added],
      ['add-network', pctodlAddNetwork, `${onnx} --gpu A100 --params ${added}`],
      [
        'add-network',
        pctodlAddNetwork,
        `${onnx} --gpu A100 --name other --from ${added} --params ${added} --json`,
        added,
      ],
      [
        'add-network',
        pctodlAddNetwork,
        `${onnx} --gpu A100 --trace ${seen} --params ${added}-2 --samples 1`,
        `${added}-2`,
      ],
      ['add-network', pctodlAddNetwork, `${onnx} --gpu A100 --sizes a --params ${added}-3`],
      ['add-network', pctodlAddNetwork, `${onnx} --params ${added}-3`],
      ['add-network', pctodlAddNetwork, `${folder}/none.onnx --gpu A100`],
      ['add-network', pctodlAddNetwork, `${trace} --gpu A100 --params ${added}-3`],
      ...[
        '--gpu H100',
        '--gpu H200 --power-cap 400 --batch 32 --context 2000 --dtype fp8',
        '--gpu A100 --power-cap 120 --prompt 30000 --max-tpot-ms 30 --json',
        '--gpu L40S --batch 3000 --context 200000 --max-tpot-ms 1 --power-cap 900',
        '--gpu V100',
        '--gpu H100 --dtype w4a16_mxfp4',
      ].map((text) => ['llm', llm, `--config ${config} ${text}`] as const),
      ['llm', llm, `--config ${folder}/none.json --gpu H100`],
    ]
    const lines: string[] = []
    for (const call of calls) lines.push(await lineOf(...call))
    lines.push(digest(['clock', 'fitted'].map((name) => settled(readFileSync(`${folder}/${name}.svg`, 'utf8')))))
    await expectStored('commands-predictions', lines)
  })

  it('are said of partitions', async () => {
    const services = put(
      'services.yaml',
      '- { name: a, model: resnet50, rate: 300, p99Ms: 60 }\n- { name: b, model: vgg19, rate: 20, p99Ms: 200, weight: 3, maxBatchSize: 8, maxQueueDelayMs: 4 }\n',
    )
    const wrong = Object.entries({
      list: 'name: a\n',
      rate: '- { name: a, model: resnet50, rate: -1, p99Ms: 60 }\n',
      stray: '- { name: a, model: resnet50, rate: 1, p99Ms: 60, other: 1 }\n',
      entry: '- 5\n',
      yaml: '- { name: a\n',
      model: '- { name: a, model: nobody, rate: 1, p99Ms: 60 }\n',
    }).map(([name, text]) => put(`${name}.yaml`, text))
    const usual = '--gpu 3080Ti --mps-step 20 --budget-evaluations 200'
    const lines: string[] = []
    for (const text of [
      `--model resnet50 ${usual} --power-cap 180`,
      `--model resnet50=2,vgg19 ${usual} --power-cap 250 --objective throughput --explain`,
      `--model resnet50=2,vgg19 ${usual} --power-cap 250 --risk 0.01 --max-tenants 3 --max-share 60 --json`,
      `--model vgg19 ${usual} --latency-slo 60 --latency-percentile p99 --max-batch 16 --memory-mib 3000 --seed 3`,
      `--model vgg19 ${usual} --power-cap 600 --power-margin 9 --mem-clock 5001 --max-distance 1 --min-throughput 30`,
      `--model vgg19 ${usual} --power-cap 40`,
      `--model vgg19 ${usual} --min-throughput 1e5 --json`,
      `--services ${services} ${usual} --power-cap 250`,
      `--services ${services} ${usual} --power-cap 120 --objective max-load --rate-margin 1.2 --latency-margin 0.2`,
      `--services ${services} ${usual} --power-cap 120 --objective max-value --burstiness 3 --json`,
      `--services ${services} ${usual} --power-cap 60`,
      `--services ${services} ${usual} --model vgg19`,
      `--services ${services} ${usual} --objective few-processes --max-batch 4`,
      `--services ${folder}/none.yaml ${usual}`,
      ...wrong.map((file) => `--services ${file} ${usual}`),
      `--model resnet50 ${usual} --objective max-load`,
      `--model resnet50 ${usual} --burstiness 2 --rate-margin 2`,
      `--model resnet50=1=2 ${usual}`,
      `--model resnet50=1e200 ${usual}`,
      `${usual}`,
      `--model resnet50 ${usual} --mem-clock 77`,
      '--model resnet50 --gpu T4',
      `--model resnet50 ${usual} --params ${folder}/nothing`,
    ])
      lines.push(await lineOf('partition', pctodlPartition, text))
    await expectStored('commands-partitions', lines)
  })

  it('are said of maps of segments', async () => {
    put('bin/nvidia-smi', smiScript)
    chmodSync(path.join(folder, 'bin/nvidia-smi'), 0o755)
    const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency,Power'
    const rows = [1, 2, 3, 4, 7].flatMap((size) => [
      `${size},8,1,${100 * size ** 0.95},${0.05},${20 * size}`,
      `${size},4,2,${48 * size},${0.06},${22 * size}`,
    ])
    for (const name of ['net', 'other']) put(`rows/${name}.csv`, [header, ...rows, ''].join('\n'))
    put('asked/SLO_req_rate.csv', 'net,other\n900,400\n300,400\n1500,100\n')
    put('asked/SLO_latency.csv', 'net,other\n500,400\n500,400\n500,20\n')
    put('day/SLO_req_rate.csv', 'net,other\n900,400\n300,400\n1500,100\n')
    put('day/SLO_latency.csv', 'net,other\n500,400\n500,400\n500,400\n')
    put('odd/net.csv', `${header}\n1,8,1,100,0.05,20\n2,8,1,210,0.5,40\n4,8,1,0,0,0\n`)
    put('odd/other.csv', [header, ...rows, ''].join('\n'))
    const fleet = put(
      'fleet.yaml',
      'powerW: 2000\ngroups:\n  - gpu: A100-80GB\n    profiles: ./rows\n    idleW: 60\n    price: 2\n    boards: 3\n  - gpu: H100\n    profiles: ./rows\n    idleW: 70\n    price: 2.5\n    boardCapW: 300\n    nodeCapW: 900\n    boardsPerNode: 4\n',
    )
    const badFleets = [
      'groups: []',
      'groups:\n  - gpu: A100-80GB\n    boards: 0',
      'groups: [',
      'groups:\n  - gpu: nothing',
    ].map((text, i) => put(`bad${i}.yaml`, text))
    const own = `--gpu A100-80GB --profiles ${folder}/rows --slo ${folder}/asked`
    const day = own.replace('asked', 'day')
    const out = (name: string) => path.join(folder, 'out', name)
    const map = `${out('a')}/SLO1/SLO1_ParvaGPU_deploy.csv`
    const serve = '--image registry/worker --command serve'
    const state = { format: 'pctodl-segments-deployment', version: 1 }
    const segment = { gpu: 0, start: 0, profile: '2g.20gb', smClockMhz: 900, model: 'net', batchSize: 8, processes: 1 }
    const gone = {
      instanceId: 3,
      uuid: 'MIG-a',
      mpsDirectory: `${folder}/stood/mps`,
      workers: [{ pid: 2 ** 30, startTime: 5 }],
    }
    // What a daemon left that is gone, too.
    put('stood/mps/pipe/nvidia-cuda-mps-control.pid', `${2 ** 30}\n`)
    const stood = path.dirname(
      put('stood/deployment.json', JSON.stringify({ ...state, segments: [{ ...segment, ...gone }] })),
    )
    put('odd-state/deployment.json', JSON.stringify({ ...state, segments: [{ ...segment, ...gone, start: 7 }] }))
    const calls: readonly (readonly [string, string?])[] = [
      [`1 ${own} --output ${out('a')} --picture --mig-parted`, out('a')],
      [`3 ${own} --output ${out('b')} --explain --strict`],
      [`2 ${own} --output ${out('c')} --kubernetes ${serve} --port 8000 --health-path /up --gpus-per-node 2`, out('c')],
      [
        `2 ${own} --output ${out('d')} --kubernetes ${serve} --devices dra --node-names a100-80gb-node-0=gpu1`,
        out('d'),
      ],
      [`1 ${own} --output ${out('e')} --power-cap 150 --idle-power 60 --rate-factor 0.5 --max-processes 1`, out('e')],
      [`plan 2 ${own} --output ${out('f')} --from ${map}`, out('f')],
      [`plan 3 ${own} --output ${out('f')} --from ${map} --consolidate --json`],
      [`plan 1 --fleet ${fleet} --slo ${folder}/asked --output ${out('g')}`, out('g')],
      [
        `plan 2 --fleet ${fleet} --slo ${folder}/asked --output ${out('g')} --from ${out('g')}/SLO1/fleet.csv`,
        out('g'),
      ],
      [`1 ${own} --output ${out('h')} --gate tail --arrivals on-off:0.7:0.5 --max-iterations 200`],
      [`schedule ${day} --output ${out('i')} --idle-power 60 --parked-power 20 --period 600 --max-late 0.01`, out('i')],
      [`schedule ${day} --output ${out('i')} --idle-power 60 --parked-power 0 --migration-time 0 --json`],
      [`2 --profiles ${folder}/odd --slo ${folder}/asked --output ${out('j')} --latency-share 0.9`],
      [`1 --gpu H200 --output ${out('j')} --slo ${folder}/asked --profiles ${folder}/rows --explain --json`],
      // Of a node: nothing is done without --apply.
      [`deploy 1 --node 0 --output ${out('a')} --directory ${folder}/place --command serve`],
      [`deploy --map ${map} --node 0 --directory ${folder}/place --gpu A100-80GB --json`],
      [`deploy --through ${out('i')}/schedule/period-02 --node 0 --directory ${folder}/place --settle 1`],
      [`deploy --node 0 --down --directory ${folder}/place`],
      [`deploy --map ${out('g')}/SLO2/fleet.csv --node 0 --directory ${folder}/place --gpu A100-80GB`],
      [`deploy --map ${map} --node 7 --directory ${folder}/place`],
      // One whose worker is gone is taken down; of the others, the tool makes none.
      [`deploy --node 0 --down --apply --directory ${stood}`, stood],
      [`deploy --node 0 --down --apply --json --directory ${stood}`],
      [`deploy --map ${map} --node 0 --apply --directory ${stood} --gpu A100-80GB`, stood],
      [`deploy --map ${out('g')}/SLO2/fleet.csv --node 0 --apply --directory ${stood} --gpu A100-80GB`],
      [`deploy --node 0 --down --directory ${folder}/odd-state`],
      ['deploy --node 0'],
      [`deploy 1 --node 0 --settle 3 --output ${out('a')}`],
      [`deploy 1 --node 0 --through ${folder}`],
      [`deploy --node 0 --through ${folder}/nowhere`],
      ...badFleets.map((file) => [`plan 1 --fleet ${file} --slo ${folder}/asked`] as const),
      ...[
        '--dispatch split',
        '--rate-error 0.2',
        '--time-error 0.2',
        '--arrivals on-off:0.5:1',
        '--gate tail --arrivals on-off:2:1',
        '--gate tail --arrivals azure:none.csv',
        '--gate tail --latency-share 0.3',
        '--idle-power 30',
        '--power-cap 100',
        '--consolidate',
        '--kubernetes',
        '--image x',
        `--kubernetes ${serve} --health-path /x`,
        `--kubernetes ${serve} --node-names a`,
        '--nodes 1 --gpus-per-node 1',
      ].map((text) => [`1 ${own} --output ${out('x')} ${text}`] as const),
      [`9 ${own}`],
      ['1 --gpu B200'],
      ['1 --gpu A30'],
      [`1 --profiles ${folder}/rows`],
      [`1 --rate-factor 0.02 --max-iterations 20 --output ${out('k')} --json`],
      [`1 --profiles ${folder}/asked --slo ${folder}/asked`],
      [`1 --profiles ${folder}/rows --slo ${folder}`],
    ]
    const lines: string[] = []
    for (const [text, output] of calls) lines.push(await lineOf('segments', segments, text, output))
    await expectStored('commands-segments', lines)
  })
})

/** A board of the vendor's tool: one with two instances, one without. */
const smiScript = `#!/bin/sh
case "$*" in
  *query-gpu=index*) echo '0, GPU-a, Enabled, NVIDIA A100-SXM4-80GB'; echo '1, GPU-b, Disabled, NVIDIA A100-SXM4-80GB';;
  *query-gpu=name*) echo 'NVIDIA A100-PCIE-40GB';;
  *query-gpu=clocks.mem*) echo 1215;;
  *-lgi*) echo '|   0  MIG 2g.20gb         14        3          0:2     |'; echo '|   0  MIG 3g.40gb          9        1          4:4     |';;
  *-dci*) echo 'No compute instances found'; exit 6;;
  *-dgi*|*-lgc*|*-rgc*|*-cgi*|*-mig*) echo done;;
  *) exit 9;;
esac
`
