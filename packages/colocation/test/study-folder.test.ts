import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { allColocations, readStudy } from '../src/cli/study-folder.js'
import { formatColocationTable, formatWorkloadTable } from '../src/index.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(9)
const pairs = allPairs(workloads).map(lawfulColocation)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pctodl-study-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

const write = (name: string, text: string) => {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
  writeFileSync(path.join(folder, name), text)
}
const groupsOf = (members: number) => [lawfulColocation(workloads.slice(0, members))]

it('a study is its workloads and the groups of every size that was measured, from two to nine', () => {
  write('workloads.csv', formatWorkloadTable(workloads))
  for (let members = 2; members <= 10; members++) {
    const group = groupsOf(Math.min(members, 9))
    write(`colocations${members}.csv`, formatColocationTable(members > 9 ? group : groupsOf(members)))
  }
  const study = readStudy(folder)
  expect([...study.catalog].map(({ name }) => name)).toEqual(workloads.map(({ name }) => name))
  expect([...study.colocations.keys()]).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
  expect(allColocations(study).map(({ members }) => members.length)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
})

it('its tables may have the names under which the published ones lie; ours come first', () => {
  write('workloads_kace.csv', formatWorkloadTable(workloads))
  write('colocations2_dev.csv', formatColocationTable(pairs))
  expect(readStudy(folder).colocations.get(2)).toHaveLength(pairs.length)
  write('workloads.csv', formatWorkloadTable(workloads.slice(0, 2)))
  write('colocations2.csv', formatColocationTable(groupsOf(2)))
  const study = readStudy(folder)
  expect([[...study.catalog].length, study.colocations.get(2)?.length]).toEqual([2, 1])
})

it('a folder without workloads, or without any group, is none', () => {
  expect(() => readStudy(folder)).toThrow(/workloads\.csv or workloads_kace\.csv: expected a folder of measured tables/)
  write('workloads.csv', formatWorkloadTable(workloads))
  expect(() => readStudy(folder)).toThrow(/no colocations2\.csv \(or 3, 4, \.\.\.\)/)
})
