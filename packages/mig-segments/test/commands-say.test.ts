import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { segments } from '../src/commands.js'
import type { ServiceObjective } from '../src/index.js'
import { mapColumns } from '../src/map/deployment-map.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-segments-say-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const call = (...argv: string[]) =>
  callCommand('pctodl segments', segments, [...argv, '--output', path.join(folder, 'deployment')])

function file(name: string, ...lines: string[]): string {
  const written = path.join(folder, name)
  mkdirSync(path.dirname(written), { recursive: true })
  writeFileSync(written, `${lines.join('\n')}\n`)
  return written
}

const profileHead = 'Mig instance,Batch size,Workload Number,Throughput,Latency'

/** What is asked of each model in one scenario. @returns the words that name it */
function asked(...of: readonly (readonly [model: string, ratePerS: number, latencyMs: number])[]): string[] {
  const names = of.map(([model]) => model).join()
  const rates = file('asked/SLO_req_rate.csv', names, of.map(([, rate]) => rate).join())
  file('asked/SLO_latency.csv', names, of.map(([, , latency]) => latency).join())
  return ['--slo', path.dirname(rates)]
}

/** One profile of all. @returns the words that name it for boards of one type */
function profiled(name: string, model: string, ...rows: string[]): string[] {
  return ['--profiles', path.dirname(file(`${name}/${model}.csv`, profileHead, ...rows))]
}

describe('plans for one type of board', () => {
  it('fail with 1 where somebody is not served, and that was asked for', async () => {
    const own = [...profiled('three', 'net', '3,8,1,100,0.08'), ...asked(['net', 50, 500])]
    for (const [words, code, said] of [
      [[], 0, ''],
      [['--latency-share', '0.05'], 1, 'not served: net: '],
    ] as const) {
      for (const [strict, expected] of [
        [[], 0],
        [['--strict'], code],
      ] as const) {
        const told = await call('1', ...own, ...words, ...strict)
        expect([told.code, told.stderr.slice(0, said.length)]).toEqual([expected, said])
      }
    }
  })

  it('show forty GPUs, by node and place, and count the rest', async () => {
    const own = [...profiled('seven', 'net', '7,8,1,100,0.01'), '--gpus-per-node', '3']
    const shown = async (boards: number) => (await call('1', ...own, ...asked(['net', 100 * boards, 100]))).stdout
    const forty = await shown(40)
    expect(forty).toMatch(/│ 13 +│ 0 +│ 7g\.80gb@0 net 8x1/)
    expect(forty).not.toMatch(/GPUs more/)
    expect(await shown(42)).toMatch(/\nand 2 GPUs more\n/)
    for (const [rate, text] of [
      [99.96, 100],
      [99.4, 99.4],
      [100.4, 100],
      [1234.5, 1235],
      [1.239, 1.24],
    ]) {
      expect((await call('1', ...own, ...asked(['net', rate!, 100]))).stdout).toMatch(new RegExp(`│ net +│ ${text} `))
    }
  })

  it('are changed with what is short meanwhile, and what would do', async () => {
    const rows = ['1,8,1,100,0.08', '1,2,1,60,0.033']
    const own = [...profiled('small', 'net', ...rows), '--gpus-per-node', '2']
    const map = file('apart.csv', mapColumns.join(), '0,0,net,0,1,8,1', '0,1,net,0,1,8,1', '1,0,net,0,1,8,1')
    const change = (latencyMs: number, ...words: string[]) =>
      call('plan', '1', '--from', map, ...own, ...asked(['net', 110, latencyMs]), ...words)
    const kept = await change(500)
    expect(kept.stdout).toMatch(
      /\n {2}1\. remove A100-80GB node 1 GPU 0, 1g\.10gb@0: net 8x1\n\n2 instances stay, 0 restart in place, 0 are created \(no fewer would do\), 1 removed; boards for 1 would do, see --consolidate\n/,
    )
    const alone = file('alone.csv', mapColumns.join(), '0,0,net,0,1,8,1')
    const tight = await call('plan', '1', '--from', alone, ...own, ...asked(['net', 50, 100]))
    expect(tight.stdout).toMatch(
      / {2}1\. restart A100-80GB node 0 GPU 0, 1g\.10gb@0: net 2x1 \(meanwhile net 0 of 0 requests\/s\)|restart A100-80GB node 0 GPU 0, 1g\.10gb@0: net 2x1\n/,
    )
    const together = await change(500, '--consolidate')
    expect(together.stdout).toMatch(
      /1 instances stay, 0 restart in place, 1 are created \(no fewer would do\), 2 removed\n/,
    )
    expect(together.stdout).toMatch(/\n1 A100-80GB: cost 1 /)
    expect(together.stdout).not.toMatch(/--consolidate/)
  })
})

describe('plans for a fleet', () => {
  const fleet = (...more: string[]) => [
    '--fleet',
    file('fleet.yaml', 'groups:', '  - gpu: A30', '    profiles: ./rows', ...more.map((line) => `    ${line}`)),
  ]

  it('fail with 1 where somebody is not served, and that was asked for', async () => {
    profiled('rows', 'net', '1,8,1,100,0.08')
    const words = ['plan', '1', ...fleet(), ...asked(['net', 50, 100])]
    for (const [strict, code] of [
      [[], 0],
      [['--strict'], 1],
    ] as const) {
      expect(await call(...words, ...strict)).toMatchObject({
        code,
        stderr: expect.stringMatching(/^not served: net: /),
      })
    }
  })

  it('are changed with what is short meanwhile, how far it is from the least, and what would do', async () => {
    profiled('rows', 'net', '1,8,1,100,0.08', '1,2,1,60,0.033')
    const map = file(
      'standing.csv',
      'Board,Node,GPU,Profile,Placement,Model,Batch size,Num proc',
      'A30,0,0,1g.6gb,0,net,8,1',
      'A30,0,1,1g.6gb,0,net,8,1',
    )
    const change = (latencyMs: number, ...words: string[]) =>
      call('plan', '1', ...fleet(), '--from', map, ...asked(['net', 110, latencyMs]), ...words)
    expect((await change(500)).stdout).toMatch(
      /2 instances stay, 0 restart in place, 0 are created \(no fewer would do\), 0 removed; boards for 1 would do, see --consolidate\n/,
    )
    expect((await change(500, '--consolidate')).stdout).toMatch(
      /1 instances stay, 0 restart in place, 1 are created \(no fewer would do\), 1 removed\n/,
    )
    const tight = await change(100)
    expect(tight.stdout).toMatch(/ {2}1\. restart A30 node 0 GPU \d, 1g\.6gb@0: net 2x1/)
    expect(tight.stdout).toMatch(/0 instances stay, 2 restart in place, 0 are created \(no fewer would do\), 0 removed/)
  })

  it('say what they draw where it was measured, and what they cost and could', async () => {
    file('rows/net.csv', `${profileHead},Power`, '1,8,1,100,0.08,30')
    const measured = await call('plan', '1', ...fleet('idleW: 40', 'price: 2'), ...asked(['net', 350, 500]))
    expect(measured.stdout).toMatch(
      /\n1 A30: cost 2 \(no plan costs less\); 160 W while everything runs, no plan of that cost below 160 W, 145 W at these rates\n/,
    )
    profiled('rows', 'net', '1,8,1,100,0.08')
    const unmeasured = await call('plan', '1', ...fleet(), ...asked(['net', 350, 500]))
    expect(unmeasured.stdout).toMatch(/\n1 A30: cost 1 \(no plan costs less\)\n/)
  })

  it('read columns without a header in the order of the files, as for one type of board', async () => {
    file('two/net.csv', profileHead, '1,8,1,100,0.08')
    const profiles = path.dirname(file('two/net-b.csv', profileHead, '1,8,1,100,0.08'))
    // `net-b.csv` is before `net.csv`, but `net` before `net-b`.
    const slo = path.dirname(file('plain/SLO_req_rate.csv', '10,20'))
    file('plain/SLO_latency.csv', '500,500')
    const yaml = file('two.yaml', 'groups:', '  - gpu: A100-80GB', `    profiles: ${profiles}`)
    for (const words of [
      ['--profiles', profiles],
      ['--fleet', yaml],
    ]) {
      const { stdout } = await call('plan', '1', '--slo', slo, ...words, '--json')
      const served = JSON.parse(stdout).served.map(({ model, ratePerS }: ServiceObjective) => [model, ratePerS])
      expect(Object.fromEntries(served)).toEqual({ 'net-b': 10, net: 20 })
    }
  })

  it('take options of the other gate for a mistake', async () => {
    profiled('rows', 'net', '1,8,1,100,0.08')
    const words = [...fleet(), ...asked(['net', 50, 500])]
    for (const [wrong, message] of [
      [['--burstiness', '2'], /--burstiness is for --gate tail; add it/],
      [['--gate', 'tail', '--latency-share', '0.5'], /--latency-share is for --gate latency; leave it away/],
      [['--consolidate'], /--consolidate is for --from; add it/],
      [['--health-path', '/up'], /are for --kubernetes; add it/],
      [['--kubernetes', '--image', 'a'], /needs --image and --command/],
      [['--kubernetes', '--command', 'a'], /needs --image and --command/],
    ] as const) {
      expect(await call('plan', '1', ...words, ...wrong)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(message),
      })
    }
  })
})
