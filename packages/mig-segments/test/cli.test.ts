import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCommand } from '../../../test/call-command.js'
import { segments } from '../src/commands.js'
import { mapColumns } from '../src/map/deployment-map.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-segments-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const call = (...argv: string[]) => callCommand('pctodl segments', segments, argv)
const output = () => ['--output', path.join(folder, 'deployment')]
const file = (name: string, content: string) => {
  const written = path.join(folder, name)
  writeFileSync(written, content)
  return written
}

/** Two rows of objectives of two of the example's services, whose plans take less time than those of all. */
function twoServices(): readonly string[] {
  const models = 'densenet201,efficientnet_v2_m,maxvit_t,mnasnet1_0,mobilenet_v2,resnet50,vgg19'
  mkdirSync(path.join(folder, 'two'), { recursive: true })
  file('two/SLO_req_rate.csv', `${models}\n900,N/A,N/A,N/A,N/A,3200,N/A\n1800,N/A,N/A,N/A,N/A,2500,N/A\n`)
  file('two/SLO_latency.csv', `${models}\n400,N/A,N/A,N/A,N/A,150,N/A\n300,N/A,N/A,N/A,N/A,150,N/A\n`)
  return ['--slo', path.join(folder, 'two')]
}

describe('pctodl segments', () => {
  it('plans the example and writes what was asked for', async () => {
    const { code, stdout, stderr } = await call(
      '2',
      ...output(),
      ...['--explain', '--picture', '--mig-parted', '--kubernetes', '--image', 'mine:1', '--command', 'serve {model}'],
      ...['--node-names', 'a100-80gb-node-0=alpha', '--devices', 'plugin'],
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/takes 1 x 2 GPC/)
    expect(stdout).toMatch(/3 GPUs \(no plan has fewer\)/)
    const beside = (name: string) => readFileSync(path.join(folder, 'deployment', 'SLO2', name), 'utf8')
    expect(beside('SLO2_ParvaGPU_deploy.csv').split('\n')[0]).toBe(mapColumns.join())
    expect(beside('map.svg')).toMatch(/^<svg/)
    expect(beside('mig-parted.yaml')).toMatch(/^version: v1/)
    expect(beside('kubernetes.yaml')).toMatch(/image: mine:1\n[\s\S]*do serve densenet201 & done/)
    expect(beside('kubernetes.yaml')).toContain('kubernetes.io/hostname: alpha')
  })

  it('asks for profiles of boards that it has no examples of', async () => {
    const { code, stderr } = await call('2', ...output(), '--gpu', 'B200')
    expect(code).toBe(2)
    expect(stderr).toMatch(/no example profiles of B200; name your own with --profiles and --slo/)
  })

  it('plans a fleet whose boards have clocks, changes it, and writes its manifests', async () => {
    const rows = ['1,8,1,100,0.08,20,1000', '1,8,1,140,0.057,40,1400']
    const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency,Power,Clock'
    mkdirSync(path.join(folder, 'clocked'))
    file(path.join('clocked', 'net.csv'), [header, ...rows, ''].join('\n'))
    mkdirSync(path.join(folder, 'asked'))
    file(path.join('asked', 'SLO_req_rate.csv'), 'net\n300\n1500\n')
    file(path.join('asked', 'SLO_latency.csv'), 'net\n500\n500\n')
    const described = (idleW: string) =>
      file('clocks.yaml', `groups:\n  - gpu: A30\n    profiles: ./clocked\n    idleW: ${idleW}\n`)
    const words = ['--fleet', described('{ 1000: 20, 1400: 30 }'), '--slo', path.join(folder, 'asked'), ...output()]
    const manifests = [
      '--kubernetes',
      '--image',
      'mine:1',
      '--command',
      'serve {model}',
      '--node-names',
      'a30-node-0=x',
    ]
    const first = await call('plan', '1', ...words, ...manifests)
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(/A30 +│ 0 +│ 0 +│ 1000 │ 80 /)
    expect(first.stdout).toMatch(/80 W while everything runs, no plan of that cost below 80 W, 80 W at these rates/)
    const beside = (name: string, row = 1) => readFileSync(path.join(folder, 'deployment', `SLO${row}`, name), 'utf8')
    expect(beside('fleet.csv')).toMatch(/Clock\nA30,0,0,1g.6gb,0,net,8,1,1000\n/)
    expect(beside('kubernetes.yaml')).toContain('kubernetes.io/hostname: x')
    const from = path.join(folder, 'deployment', 'SLO1', 'fleet.csv')
    const next = await call('plan', '2', ...words, '--from', from)
    expect(next).toMatchObject({ code: 0, stderr: '' })
    expect(next.stdout).toMatch(/\n {2}1\. create A30 node 0 GPU 0 at 1000 MHz, 1g\.6gb@3: net 8x1\n/)
    expect(next.stdout).toMatch(
      /3 instances stay, 0 restart in place, \d+ are created \(no fewer would do\), 0 removed/,
    )
    expect(beside(path.join('steps', 'step-001.csv'), 2).split('\n')).toHaveLength(6)
    const wrong = async (...argv: string[]) => (await call('plan', '1', ...words, ...argv)).stderr
    expect(await wrong('--consolidate')).toMatch(/--consolidate is for --from/)
    expect(await wrong('--port', '80')).toMatch(/are for --kubernetes; add it/)
    expect(await wrong(...manifests, '--node-names', 'x')).toMatch(/got 'x', expected <node of the map>=/)
    described('{ 1000: 20 }')
    expect(await wrong()).toMatch(/idleW: got undefined, expected watts of at least 0 at 1400 MHz/)
    const single = await call('1', '--profiles', path.join(folder, 'clocked'), '--slo', path.join(folder, 'asked'))
    expect(single.stderr).toMatch(/expected points at one SM clock; `fleet`/)
  })

  it('plans a fleet of two types, and names what is wrong in its file', async () => {
    const described = file('fleet.yaml', 'groups:\n  - gpu: A100-80GB\n    price: 0.5\n  - gpu: H100\n    boards: 2\n')
    const { code, stdout, stderr } = await call(
      'plan',
      '2',
      '--fleet',
      described,
      ...output(),
      '--mig-parted',
      '--strict',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/A100-80GB.*: cost [\d.]+ \(no plan costs less\)/)
    const beside = (name: string) => readFileSync(path.join(folder, 'deployment', 'SLO2', name), 'utf8')
    expect(beside('fleet.csv').split('\n')[0]).toBe('Board,Node,GPU,Profile,Placement,Model,Batch size,Num proc')
    expect(beside('mig-parted.yaml')).toMatch(/pctodl-a100-80gb-node-0/)
    const json = await call(
      'plan',
      '1',
      '--fleet',
      described,
      ...twoServices(),
      ...output(),
      '--json',
      '--gate',
      'tail',
      '--burstiness',
      '2',
      '--max-iterations',
      '300',
    )
    expect(JSON.parse(json.stdout)).toMatchObject({ unserved: [], files: [expect.stringMatching(/fleet.csv$/)] })
    for (const [text, message] of [
      ['groups: []', /fleet.yaml: groups: /],
      ['groups: [{ gpu: A100, color: red }]', /groups.0.*color/],
      ['groups: [{ gpu: B200 }]', /no example profiles of B200; name the folder/],
      ['groups: [', /fleet.yaml: /],
    ] as const) {
      const wrong = await call('plan', '2', '--fleet', file('fleet.yaml', text), ...output())
      expect(wrong.code).not.toBe(0)
      expect(wrong.stderr).toMatch(message)
    }
    const apart = await call('plan', '2', '--fleet', described, ...output(), '--burstiness', '2')
    expect(apart).toMatchObject({ code: 2, stderr: expect.stringMatching(/--burstiness is for --gate tail/) })
  })

  it('follows a day, and writes the maps of each step', async () => {
    const slo = path.join(folder, 'day')
    const profiles = path.join(folder, 'day-profiles')
    for (const each of [slo, profiles]) mkdirSync(each, { recursive: true })
    const rows = [1, 3, 7, 4, 4, 7].map((size) => `${size},8,1,${50 * size},0.02,${30 * size}`).slice(0, 4)
    writeFileSync(
      path.join(profiles, 'net.csv'),
      `Mig instance,Batch size,Workload Number,Throughput,Latency,Power\n${rows.join('\n')}\n`,
    )
    writeFileSync(path.join(slo, 'SLO_req_rate.csv'), 'net\n300\n900\n200\n')
    writeFileSync(path.join(slo, 'SLO_latency.csv'), 'net\n200\n200\n200\n')
    const inputs = ['--profiles', profiles, '--slo', slo, ...output()]
    const power = ['--idle-power', '60', '--parked-power', '10', '--period', '1800', '--migration-time', '30']
    const { code, stdout, stderr } = await call('schedule', ...inputs, ...power)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/schedule: [\d.]+ kWh, 3 GPUs at most, \d+ segments created, 0.0 % of requests late/)
    expect(stdout).toMatch(/% less than one plan for all; no schedule takes less than/)
    const period = path.join(folder, 'deployment', 'schedule', 'period-02')
    const first = readFileSync(path.join(period, 'step-001.csv'), 'utf8')
    expect(first.split('\n')[0]).toBe(mapColumns.join())
    const json = await call(
      'schedule',
      ...inputs,
      ...power,
      '--json',
      '--nodes',
      '1',
      '--max-iterations',
      '500',
      '--max-late',
      '0.005',
    )
    expect(JSON.parse(json.stdout)).toMatchObject({ boards: 8, unserved: [] })
    const dry = ['deploy', '--node', '0', '--gpu', 'A100-80GB', '--directory', path.join(folder, 'none')]
    const printed = await call(...dry, '--through', period)
    expect(printed.stdout).toMatch(/mig -i 0 -cgi[\s\S]*# then \d+ maps? more/)
    expect(await call(...dry, '--through', period, '--map', 'x.csv')).toMatchObject({ code: 2 })
    expect(await call(...dry, '1', '--settle', '5')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--settle is for --through/),
    })
    expect(await call(...dry, '--through', path.join(folder, 'absent'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/absent does not exist; name a period/),
    })
    expect(await call('schedule', ...inputs, '--idle-power', '60')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--parked-power/),
    })
  })

  it('reports as JSON', async () => {
    const { stdout } = await call('plan', '1', ...output(), '--json')
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({ gpuCount: report.lowerBoundGpus, unserved: [] })
    expect(report.files).toHaveLength(1)
  })

  it('plans by the tail, and says what is expected of each service', async () => {
    const asked = ['1', ...twoServices(), ...output(), '--gate', 'tail']
    const { code, stdout } = await call(...asked, '--burstiness', '2', '--max-iterations', '300')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /│ densenet201 +│ [\d.]+ +│ \d+ +│ \d+ +│ \d+ +│ [\d.]+ +│ \d+ % +│ [\d.]+ +│ [\d.]+ +│\n[\s\S]*\nBy simulated requests, \w+ breaks first, at \d+ % more than its rate\.\n/,
    )
    expect(stdout).toMatch(/\d+ GPUs? \(/)
    const split = await call(...asked, '--dispatch', 'split', '--json')
    const report = JSON.parse(split.stdout)
    expect(report).toMatchObject({ gpuCount: report.lowerBoundGpus, unserved: [] })
    expect(report.limits).toHaveLength(report.served.length)
  })

  it('says what a GPU draws at most, under a cap', async () => {
    const own = path.join(folder, 'measured')
    mkdirSync(own)
    const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency,Power'
    writeFileSync(path.join(own, 'net.csv'), `${header}\n1,8,1,100,0.08,40\n`)
    writeFileSync(path.join(own, 'SLO_req_rate.csv'), 'net\n650\n')
    writeFileSync(path.join(own, 'SLO_latency.csv'), 'net\n500\n')
    const words = ['1', '--profiles', own, '--slo', own, ...output(), '--power-cap', '200', '--idle-power', '50']
    const { code, stdout } = await call(...words)
    expect(code).toBe(0)
    expect(stdout).toMatch(/3 GPUs \(.*; at most 170 W a GPU of 200 W/)
  })

  it('replans from a map, with the steps', async () => {
    const asked = [...twoServices(), ...output()]
    await call('1', ...asked)
    const from = path.join(folder, 'deployment', 'SLO1', 'SLO1_ParvaGPU_deploy.csv')
    const same = await call('plan', '1', '--from', from, ...asked)
    expect(same.stdout).toMatch(/0 are created \(no fewer would do\), 0 removed/)
    const { code, stdout } = await call('plan', '2', '--from', from, ...asked)
    expect(code).toBe(0)
    expect(stdout).toMatch(/ {2}\d\. create A100-80GB node 0 GPU \d, .*gb@\d: /)
    expect(JSON.parse((await call('plan', '2', '--from', from, ...asked, '--json')).stdout).steps.length).toBe(
      stdout.match(/^ *\d+\. /gm)!.length,
    )
  })

  it('reads profiles and objectives of anybody, warns, and names what cannot be served', async () => {
    const header = 'Mig instance,Batch size,Workload Number,Throughput,Latency'
    file('slow.csv', `${header}\n1,1,1,10,0.1\n2,1,1,10,0.2\n3,1,1,10,0.3\n4,1,1,10,0.4\n`)
    file('net.csv', `${header}\n1,8,1,100,0.08\n`)
    file('SLO_req_rate.csv', 'net,slow\n150,5\n')
    file('SLO_latency.csv', 'slow,net\n50,500\n')
    const own = ['--profiles', folder, '--slo', folder, ...output()]
    const { code, stdout, stderr } = await call('1', ...own)
    expect(code).toBe(0)
    expect(stdout).toMatch(/1 GPU \(/)
    expect(stderr).toMatch(/warning: slow: latency rises/)
    expect(stderr).toMatch(/not served: slow: no instance computes a batch in time for 50 ms.*\(1g\.10gb, 1x1\)/)
    expect((await call('1', ...own, '--strict')).code).toBe(1)
    const crowded = await call('1', ...own, '--rate-factor', '100', '--nodes', '1', '--gpus-per-node', '4')
    expect(crowded).toMatchObject({ code: 1, stderr: expect.stringMatching(/needs 22 GPUs and there are 4/) })
  })

  it.each([
    [['99'], 2, /no SLO row 99; the files have rows 1 to 4/],
    [['0'], 2, /integer of at least 1/],
    [['2', '--board', 'T4'], 2, /has no MIG/],
    [['2', '--board', 'none'], 2, /unknown GPU with MIG 'none'/],
    [['2', '--profiles', '/nowhere'], 2, /--profiles needs --slo/],
    [['2', '--profiles', '/nowhere', '--slo', '/nowhere'], 1, /\/nowhere has no profiles/],
    [['2', '--max-iterations', '0'], 2, /integer of at least 1/],
    [['2', '--gate', 'none'], 2, /not one of latency, tail/],
    [['2', '--burstiness', '4'], 2, /for --gate tail; add it/],
    [['2', '--dispatch', 'split'], 2, /for --gate tail; add it/],
    [['2', '--gate', 'tail', '--burstiness', '0'], 2, /from 0.1 to 100/],
    [['2', '--gate', 'tail', '--latency-share', '0.5'], 2, /for --gate latency; leave it away/],
    [['2', '--devices', 'dra'], 2, /--devices.* are for --kubernetes; add it/],
    [['2', '--power-cap', '300'], 2, /--power-cap needs --idle-power/],
    [['2', '--idle-power', '60'], 2, /--idle-power is for --power-cap/],
    [['2', '--kubernetes', '--image', 'mine:1'], 2, /needs --image and --command/],
    [['2', '--image', 'mine:1'], 2, /are for --kubernetes/],
    [
      ['2', '--kubernetes', '--image', 'mine:1', '--command', 'serve', '--health-path', '/health'],
      2,
      /--health-path needs --port/,
    ],
    [[], 2, /missing required argument 'SLO_INDEX'/],
    [['plan', '2', '--from', '/nowhere.csv'], 1, /--from: got '\/nowhere.csv', expected a map that can be read/],
    [['deploy', '--node', '0', '--map', '/nowhere.csv'], 1, /map: got '\/nowhere.csv', .*plan first, or name another/],
    [['deploy', '1', '--node', '0', '--output', '/nowhere'], 1, /map: got '\/nowhere\/SLO1.*plan first/],
    [['deploy', '--node', '0'], 2, /name an SLO row, or a map/],
    [['deploy', '1', '--node', '-1'], 2, /integer of at least 0/],
    [['deploy', '1', '--node', '0', '--command', "it's"], 1, /a closing '/],
  ])('refuses %j', async (argv, code, message) => {
    expect(await call(...argv)).toMatchObject({ code, stderr: expect.stringMatching(message) })
  })

  it('has nothing for a node that the map does not name', async () => {
    const map = file('node-map.txt', `${mapColumns.join()}\n0,0,net,4,3,8,2\n`)
    const { code, stderr } = await call('deploy', '--node', '1', '--map', map, '--directory', folder)
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/has nothing on node 1/) })
  })

  it('helps', async () => {
    const { code, stdout } = await call('--help')
    expect(code).toBe(0)
    expect(stdout).toMatch(/Example:\n {2}pctodl segments 2/)
    expect((await call('deploy', '--help')).stdout).toMatch(/--apply/)
  })
})
