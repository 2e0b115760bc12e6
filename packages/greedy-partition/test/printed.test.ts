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
             5        20      16            383.6   41.7 (p99 44.9) 
      clocks      SM 1230 MHz, memory 5001 MHz
      throughput  1918.0 samples/s
      power       189.8 W, 10.2 W below the cap; exceeds it with probability 0.014
      utilisation SM 100 %, memory 63 %
      search      150 evaluations in so many ms; stopped because the evaluation budget is spent
       processes   p99 ms   samples/s       W 
               1     23.0      1494.6   189.7 
               2    122.1      1667.5   192.1 
               3    124.8      1798.3   187.6 
               4     81.6      1892.3   189.6 
               5     89.1      1930.5   190.0 

      Verify (on a real board: --gpu 0 without --backend sim):
        pctodl profile --backend sim --gpu 3080Ti --model resnet50 --single --shares 20,20,20,20,20 --batches 16,16,16,16,16 --sm-clock 1230 --mem-clock 5001
      "
    `)
  })

  it('is of several networks their weights, too, and a board that takes less than the cap', async () => {
    const argv = ['--model', 'resnet50,vgg19=4', '--gpu', 'A100', '--power-cap', '400', '--risk', '0.05']
    expect(await printed(...argv, ...coarse)).toMatchInlineSnapshot(`
      "resnet50, vgg19 on NVIDIA A100-PCIE-40GB, power cap 400 W
      the board takes at most 250 W, which is held in the place of the cap
       tenants   network    share %   batch   samples/s each        latency ms 
             1   resnet50        20      16            992.8   16.1 (p99 17.5) 
             1   vgg19           20      16            499.6   32.0 (p99 34.7) 
             3   vgg19           20      32            510.7   62.7 (p99 67.9) 
      clocks      SM 1200 MHz, memory 1215 MHz
      throughput  3024.5 samples/s, weighted 9119.6
      power       214.0 W, 36.0 W below the cap; exceeds it with probability 0.024
      utilisation SM 100 %, memory 40 %
      search      150 evaluations in so many ms; stopped because the evaluation budget is spent
       processes   p99 ms   samples/s       W 
               2     33.1      6075.9   220.3 
               4     68.1      8885.4   210.1 
               5    135.0      9135.1   214.3 

      pctodl profile measures one network at a time: this mix cannot be verified by one call.
      "
    `)
  })

  it('is the way to it, where that is asked for', async () => {
    const argv = ['--model', 'mobilenet_v2', '--gpu', 'A100', '--power-cap', '120', '--explain', '--mps-step', '25']
    expect(await printed(...argv, '--budget-evaluations', '60')).toMatchInlineSnapshot(`
      " step   stage    move            SM MHz   memory MHz   samples/s       W 
          1   greedy   add 25 % x 32     1410         1215      2555.2    90.9 
          2   greedy   add 25 % x 32     1350         1215      4891.0   114.3 
          3   greedy   add 25 % x 32     1215         1215      6947.8   114.4 
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
               2     11.8      5860.1   113.0 
               3     15.0      7449.0   113.8 
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
