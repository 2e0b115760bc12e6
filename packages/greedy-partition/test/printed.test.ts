import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { exitCodeOf } from '@pctodl/command-line'
import { afterAll, describe, expect, it } from 'vitest'
import { pctodlPartition } from '../src/commands.js'

async function printed(...argv: string[]) {
  let text = ''
  await exitCodeOf('pctodl partition', pctodlPartition, argv, {
    stdout: { write: (part) => (text += part) },
    stderr: { write: (part) => (text += part) },
    signal: new AbortController().signal,
    env: {},
  })
  return text
    .replaceAll(/in [\d.]+ ms;/g, 'in so many ms;')
    .replaceAll(/searched in [\d.]+ ms/g, 'searched in so many ms')
}

const folder = mkdtempSync(path.join(os.tmpdir(), 'printed-'))
afterAll(() => rmSync(folder, { recursive: true }))

const coarse = ['--mps-step', '20', '--budget-evaluations', '150']

describe('what is printed of a plan', () => {
  it('is its tenants, alike ones in a line, clocks, power, how it was found and how to measure it', async () => {
    expect(
      await printed('--model', 'resnet50', '--gpu', '3080Ti', '--power-cap', '200', ...coarse),
    ).toMatchInlineSnapshot(`
      "resnet50 on NVIDIA GeForce RTX 3080 Ti, power cap 200 W
       tenants   share %   batch   samples/s each        latency ms 
             5        20       8            380.4   21.0 (p99 22.6) 
      clocks      SM 1245 MHz, memory 5001 MHz
      throughput  1901.8 samples/s
      power       189.7 W, 10.3 W below the cap; exceeds it with probability 0.0082
      utilisation SM 100 %, memory 61 %
      search      150 evaluations in so many ms; stopped because the evaluation budget is spent
       processes   p99 ms   samples/s       W 
               1     23.2      1480.0   187.8 
               2     41.0      1651.1   190.7 
               3    124.9      1792.5   186.9 
               4     82.3      1877.7   187.9 
               5     89.9      1914.3   188.2 

      Verify (on a real board: --gpu 0 without --backend sim):
        pctodl profile --backend sim --gpu 3080Ti --model resnet50 --single --shares 20,20,20,20,20 --batches 8,8,8,8,8 --sm-clock 1245 --mem-clock 5001
      "
    `)
  })

  it('is of several networks their weights, too, and a board that takes less than the cap', async () => {
    const argv = ['--model', 'resnet50,vgg19=4', '--gpu', 'A100', '--power-cap', '400', '--risk', '0.05']
    expect(await printed(...argv, ...coarse)).toMatchInlineSnapshot(`
      "resnet50, vgg19 on NVIDIA A100-PCIE-40GB, power cap 400 W
      the board takes at most 250 W, which is held in the place of the cap
       tenants   network    share %   batch   samples/s each        latency ms 
             1   resnet50        20      16            983.7   16.3 (p99 17.6) 
             4   vgg19           20      32            504.8   63.4 (p99 68.7) 
      clocks      SM 1185 MHz, memory 1215 MHz
      throughput  3003.0 samples/s, weighted 9060.9
      power       206.5 W, 43.5 W below the cap; exceeds it with probability 0.0035
      utilisation SM 100 %, memory 40 %
      search      150 evaluations in so many ms; stopped because the evaluation budget is spent
       processes   p99 ms   samples/s       W 
               2     94.7      6981.3   217.4 
               3    231.2      8271.6   215.2 
               4     68.8      8905.0   204.8 
               5     68.9      9139.7   208.4 

      pctodl profile measures one network at a time: this mix cannot be verified by one call.
      "
    `)
  })

  it('is the way to it, where that is asked for', async () => {
    const argv = ['--model', 'mobilenet_v2', '--gpu', 'A100', '--power-cap', '120', '--explain', '--mps-step', '25']
    expect(await printed(...argv, '--budget-evaluations', '60')).toMatchInlineSnapshot(`
      " step   stage    move            SM MHz   memory MHz   samples/s       W 
          1   greedy   add 25 % x 32     1410         1215      2555.2    90.9 
          2   greedy   add 25 % x 32     1335         1215      4870.6   111.4 
          3   greedy   add 25 % x 32     1200         1215      6912.9   111.3 
          4   greedy   add 25 % x 32     1110         1215      8803.3   112.4 

      mobilenet_v2 on NVIDIA A100-PCIE-40GB, power cap 120 W
       tenants   share %   batch   samples/s each        latency ms 
             4        25      32           2200.8   14.5 (p99 15.8) 
      clocks      SM 1110 MHz, memory 1215 MHz
      throughput  8803.3 samples/s
      power       112.4 W, 7.6 W below the cap; exceeds it with probability 0.0067
      utilisation SM 97 %, memory 48 %
      search      60 evaluations in so many ms; stopped because the evaluation budget is spent
       processes   p99 ms   samples/s       W 
               1     11.4      3085.7    99.2 
               2     11.8      5850.6   110.3 
               3     15.1      7418.8   110.8 
               4     15.8      8803.3   112.4 

      Verify (on a real board: --gpu 0 without --backend sim):
        pctodl profile --backend sim --gpu A100 --model mobilenet_v2 --single --shares 25,25,25,25 --batches 32,32,32,32 --sm-clock 1110 --mem-clock 1215
      "
    `)
  })

  it('is of services what is let in, how late they are, and what gives way first', async () => {
    const file = path.join(folder, 'services.yaml')
    writeFileSync(
      file,
      [
        '- { name: search, model: resnet50, rate: 9000, p99Ms: 40, maxBatchSize: 512 }',
        '- { name: ads, model: vgg19, rate: 400, p99Ms: 100, weight: 0.01 }',
      ].join('\n'),
    )
    const asked = ['--services', file, '--gpu', 'A100', '--power-cap', '300', '--mps-step', '20', '--objective']
    expect(await printed(...asked, 'max-value', '--budget-evaluations', '30')).toMatchInlineSnapshot(`
      "search, ads on NVIDIA A100-PCIE-40GB, power cap 300 W, max-value
      the board takes at most 250 W, which is held in the place of the cap
       service   network    tenants   share %   batch     requests/s   p99 ms   of ms   in time % 
       search    resnet50         4        20      16   3867 of 9000     20.0      40       100.0 
       ads       vgg19            1        20      16     105 of 400      8.0     100       100.0 
      batches     at most 64 of ads: no maxBatchSize is given
      batches     at most 256 of search: none larger are planned
      clocks      SM 1410 MHz, memory 1215 MHz
      power       247.0 W, 3.0 W below the cap
      limit       the power cap; by the model no plan is more than 51 % better
      search      54 layouts in so many ms; stopped because the evaluation budget is spent
      "
    `)
    expect(await printed(...asked, 'max-load', '--budget-evaluations', '30')).toMatchInlineSnapshot(`
      "search, ads on NVIDIA A100-PCIE-40GB, power cap 300 W, max-load
      the board takes at most 250 W, which is held in the place of the cap
       service   network    tenants   share %   batch     requests/s   p99 ms   of ms   in time % 
       search    resnet50         4        20      16   3869 of 9000     20.7      40       100.0 
       ads       vgg19            1        20      16     172 of 400     10.8     100       100.0 
      batches     at most 64 of ads: no maxBatchSize is given
      batches     at most 256 of search: none larger are planned
      clocks      SM 1380 MHz, memory 1215 MHz
      power       240.7 W, 9.3 W below the cap
      load        0.43 of the rates
      limit       the objective of search; by the model no plan is more than 38 % better
      search      54 layouts in so many ms; stopped because the evaluation budget is spent
      "
    `)
  })
})
