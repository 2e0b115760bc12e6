import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildNetwork } from '@pctodl/model-zoo'
import { networkNames } from '@pctodl/platform'
import { InferencePool, syntheticImages, torchWorker } from '@pctodl/tenants'
import { afterAll, describe, expect, it } from 'vitest'
import { pythonWith } from '../../../test/python-environment.js'
import { torchWorkerFile } from '../src/pool/torch-worker-kind.js'
import { expectToAnswer } from './answer-requests.js'
import { eventually } from './eventually.js'

/** PyTorch is gigabytes: it is installed for this test only where PCTODL_TORCH_TESTS asks for it. */
const hasTorch = (python: string) => spawnSync(python, ['-c', 'import torch, torchvision']).status === 0
const named = process.env['PCTODL_PYTHON'] || 'python3'
const python = hasTorch(named)
  ? named
  : process.env['PCTODL_TORCH_TESTS']
    ? pythonWith(['torch==2.15.0', 'torchvision', 'numpy'], ['torch', 'torchvision'])
    : undefined

const folder = mkdtempSync(path.join(tmpdir(), 'pctodl-torch-'))
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

describe.skipIf(python === undefined)(
  'PyTorch workers (need PCTODL_PYTHON with torch and torchvision, or PCTODL_TORCH_TESTS=1 to install them)',
  () => {
    const tenant = (model: string, batchSize: number) => ({ model, mpsPercent: 40, batchSize })

    it('count exactly what they did, change batches, and are started again', async () => {
      const images = await syntheticImages({ folder, count: 4 })
      const worker = torchWorker({ python: python!, device: 'cpu', channelsLast: true })
      const pool = new InferencePool({ worker, images, logFolder: path.join(folder, 'logs') })
      try {
        await pool.apply([tenant('mobilenet_v2', 2), tenant('resnet50', 1)])
        expect(pool.counters().map(({ state, failure }) => [state, failure])).toEqual([
          ['running', undefined],
          ['running', undefined],
        ])
        expect(pool.descriptions()[0]).toMatch(/^torch .*, torchvision .*, fp32, channels-last on cpu$/)
        const window = await pool.measure(2000)
        expect(window.tenants.every(({ throughput }) => throughput! > 0)).toBe(true)
        const [pid] = pool.pids()
        await pool.apply([tenant('mobilenet_v2', 3), tenant('resnet50', 1)])
        expect(pool.pids()[0]).toBe(pid)
        process.kill(pid!, 'SIGSTOP')
        await eventually(() => pool.ended().length === 1, 'the stopped worker is noticed')
        await eventually(() => pool.counters()[0]!.state === 'running', 'it is started again')
        await pool.stop()
        for (const { counters, logFile } of pool.ended()) {
          const own = JSON.parse(readFileSync(logFile!, 'utf8').trim().split('\n').at(-1)!)
          expect({ samples: counters.samples, batches: counters.batches }).toEqual(own)
        }
      } finally {
        await pool.stop()
      }
    })

    it('answer requests, also those of one that is killed', async () => {
      const images = await syntheticImages({ folder, count: 4 })
      await expectToAnswer({ worker: torchWorker({ python: python!, device: 'cpu' }), images }, 'mobilenet_v2')
    })

    it('compute on batches that stay on the device', async () => {
      const images = await syntheticImages({ folder, count: 4 })
      const worker = torchWorker({ python: python!, device: 'cpu', residentInputs: true })
      const pool = new InferencePool({ worker, images })
      try {
        await pool.apply([tenant('mobilenet_v2', 2), tenant('transformer', 1)])
        expect(pool.counters().map(({ state, failure }) => [state, failure])).toEqual([
          ['running', undefined],
          ['running', undefined],
        ])
        expect(pool.descriptions()[0]).toMatch(/graph of the model zoo, inputs resident/)
        await pool.apply([tenant('gemm_64', 8)])
        expect((await pool.measure(500)).tenants[0]!.throughput).toBeGreaterThan(0)
      } finally {
        await pool.stop()
      }
    })

    it('build each network of the zoo from its graph', () => {
      const graphs = networkNames.map((name) => {
        const file = path.join(folder, `${name}.json`)
        writeFileSync(file, JSON.stringify(buildNetwork(name).nodes))
        return file
      })
      const program = [
        'import sys, json, torch',
        `sys.path.insert(0, ${JSON.stringify(path.dirname(torchWorkerFile()))})`,
        'from pctodl_resident_networks import graph_network',
        'torch.set_grad_enabled(False)',
        'for file in sys.argv[1:]:',
        '    print(tuple(graph_network(torch, json.load(open(file))).eval()(torch.rand(2, 3, 224, 224)).shape))',
      ].join('\n')
      const { stdout, stderr } = spawnSync(python!, ['-c', program, ...graphs], { encoding: 'utf8' })
      expect(stderr).toBe('')
      expect(stdout).toBe('(2, 1000)\n'.repeat(networkNames.length))
    })

    it('say that they do not know a model', async () => {
      const images = await syntheticImages({ folder, count: 4 })
      const pool = new InferencePool({ worker: torchWorker({ python: python!, device: 'cpu' }), images })
      await pool.apply([tenant('resnet51', 1)])
      expect(pool.counters()[0]).toMatchObject({
        state: 'failed',
        failure: expect.stringMatching(/unknown model 'resnet51'/),
      })
      await pool.stop()
    })
  },
)

describe.skipIf(hasTorch('python3') || spawnSync('python3', ['-V']).status !== 0)(
  'a PyTorch worker without PyTorch (needs a python3 that has none)',
  () => {
    it('says what to install', async () => {
      const images = await syntheticImages({ folder, count: 4 })
      const pool = new InferencePool({ worker: torchWorker({ python: 'python3' }), images })
      await pool.apply([{ model: 'resnet50', mpsPercent: 50, batchSize: 1 }])
      expect(pool.counters()[0]!.failure).toMatch(/needs PyTorch .*; install it: pip install torch torchvision/)
      await pool.stop()
    })
  },
)
