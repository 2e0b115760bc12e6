import { describe, expect, it } from 'vitest'
import {
  formatColocationTable,
  formatWorkloadTable,
  parseColocationTable,
  parseWorkloadTable,
  TableError,
} from '../src/index.js'
import { WorkloadCatalog } from '../src/workload.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(5)
const catalog = new WorkloadCatalog(workloads)
const workloadCsv = formatWorkloadTable(workloads)

function tableErrorOf(read: () => unknown): TableError {
  try {
    read()
  } catch (error) {
    if (error instanceof TableError) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('the table of workloads', () => {
  it('comes back as it was written', () => {
    expect([...parseWorkloadTable(workloadCsv)]).toEqual(workloads)
    const powered = workloads.map((workload, i) => (i === 1 ? workload : { ...workload, powerW: 100.5 + i }))
    expect([...parseWorkloadTable(formatWorkloadTable(powered))]).toEqual(powered)
    const group = { members: workloads.slice(0, 2), throughputs: [3, 4], powerW: 222.25 }
    expect(parseColocationTable(formatColocationTable([group, { ...group, powerW: 1 }]), catalog)).toEqual([
      { row: 0, ...group },
      { row: 1, ...group, powerW: 1 },
    ])
  })

  it('accepts a byte order mark, other columns and another order', () => {
    const [header = '', ...lines] = workloadCsv.trim().split('\n')
    const turned = [header, ...lines].map((line) => [...line.split(',').reverse(), 'more'].join(','))
    expect([...parseWorkloadTable(`\ufeff${turned.join('\r\n')}`)]).toEqual(workloads)
  })

  it.each([
    ['a missing column', (text: string) => text.replace('memcap', 'memory'), 1, 'memcap'],
    ['a word for a number', (text: string) => text.replace(String(workloads[2]!.threads), 'many'), 4, 'Threads'],
    [
      'no throughput',
      (text: string) => text.replace(String(workloads[1]!.exclusiveThroughput), '0'),
      3,
      'exclusive_throughput',
    ],
    ['a blank cell', (text: string) => text.replace(String(workloads[0]!.registers), ''), 2, 'Registers'],
    ['a name of another form', (text: string) => text.replace(workloads[3]!.name, 'resnet50'), 5, 'workload'],
    [
      'a name with a comma',
      (text: string) => text.replace(workloads[3]!.name, `"a,${workloads[3]!.name}"`),
      5,
      'workload',
    ],
    ['a hexadecimal number', (text: string) => text.replace(String(workloads[2]!.threads), '0x10'), 4, 'Threads'],
    ['two columns of a name', (text: string) => text.replace('sm%', 'mem%'), 1, 'mem%'],
    ['one name twice', (text: string) => text.replace(workloads[3]!.name, workloads[0]!.name), 5, 'workload'],
  ])('refuses %s, with its place', (_, spoil, line, column) => {
    const error = tableErrorOf(() => parseWorkloadTable(spoil(workloadCsv), 'solo.csv'))
    expect(error).toMatchObject({ file: 'solo.csv', line, column, code: 'BAD_TABLE' })
    expect(error.message).toContain(`solo.csv, line ${line}, column '${column}'`)
  })

  it('refuses an empty file, a header alone and a row of other length', () => {
    expect(tableErrorOf(() => parseWorkloadTable('')).message).toContain('no rows')
    expect(tableErrorOf(() => parseWorkloadTable(workloadCsv.split('\n')[0]!)).message).toContain('no rows')
    expect(tableErrorOf(() => parseWorkloadTable(`${workloadCsv}x,1\n`)).line).toBe(7)
  })

  it('lists the names it has when asked for another', () => {
    expect(() => catalog.get('resnet50_batch1-inf')).toThrow(workloads[0]!.name)
  })
})

describe('the table of colocations', () => {
  const pairs = allPairs(workloads).map(lawfulColocation)
  const csv = formatColocationTable(pairs)

  it('comes back as it was written, with row numbers', () => {
    expect(parseColocationTable(csv, catalog)).toEqual(pairs.map((pair, row) => ({ ...pair, row })))
  })

  it('takes repeated measurements, and refuses a row that was copied', () => {
    const again = { ...pairs[0]!, throughputs: pairs[0]!.throughputs.map((each) => 1.01 * each) }
    expect(parseColocationTable(formatColocationTable([...pairs, again]), catalog)).toHaveLength(pairs.length + 1)
    const copied = formatColocationTable([...pairs, pairs[0]!])
    expect(tableErrorOf(() => parseColocationTable(copied, catalog)).message).toContain('the same as line 2; leave one')
    const numbered = csv.replace(/^1,/m, '0,')
    expect(tableErrorOf(() => parseColocationTable(numbered, catalog))).toMatchObject({ line: 3, column: 'row' })
  })

  it('takes any number of members', () => {
    const triples = [lawfulColocation(workloads.slice(0, 3)), lawfulColocation(workloads.slice(2, 5))]
    const read = parseColocationTable(formatColocationTable(triples), catalog)
    expect(read.map(({ members }) => members.length)).toEqual([3, 3])
  })

  it('refuses workloads that it does not know, and throughputs that cannot be', () => {
    const unseen = csv.replace(workloads[1]!.name, 'stranger_batch1-inf')
    expect(tableErrorOf(() => parseColocationTable(unseen, catalog, 'pairs.csv'))).toMatchObject({
      line: 3,
      column: 'workload2',
    })
    const dead = csv.replace(String(pairs[0]!.throughputs[0]), '0')
    expect(tableErrorOf(() => parseColocationTable(dead, catalog))).toMatchObject({ line: 2, column: 'w1throughput' })
    expect(tableErrorOf(() => parseColocationTable('a,b\n1,2\n', catalog)).message).toContain('workload1')
    const third = csv.replace('w2throughput', 'w2throughput,w3throughput').replace(/(?<=\d)\n/g, ',1\n')
    expect(tableErrorOf(() => parseColocationTable(third, catalog)).column).toBe('w3throughput')
    expect(tableErrorOf(() => parseColocationTable(csv.replace('w2throughput', 'second'), catalog)).column).toBe(
      'w2throughput',
    )
  })
})
