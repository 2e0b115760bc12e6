import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { formatColocationTable, formatWorkloadTable } from '../src/index.js'
import { allColocations, readStudy } from '../src/tables/study-tables.js'
import { allPairs, lawfulColocation, syntheticWorkloads } from './synthetic-board.js'

const workloads = syntheticWorkloads(10)
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

it('a study is its workloads and the groups of every size that was measured', () => {
  write('workloads.csv', formatWorkloadTable(workloads))
  const sizes = [2, 3, 4, 5, 6, 7, 8, 9, 10]
  for (const members of sizes) write(`colocations${members}.csv`, formatColocationTable(groupsOf(members)))
  const study = readStudy(folder)
  expect([...study.catalog].map(({ name }) => name)).toEqual(workloads.map(({ name }) => name))
  expect([...study.colocations.keys()]).toEqual(sizes)
  expect(allColocations(study).map(({ members }) => members.length)).toEqual(sizes)
  write('colocations2.csv', formatColocationTable(groupsOf(3)))
  expect(() => readStudy(folder)).toThrow('colocations2.csv, line 1: 3 members, expected the 2 of its name')
})

it('a folder without workloads, or without any group, is none', () => {
  write('colocations2.csv', formatColocationTable(pairs))
  expect(() => readStudy(folder)).toThrow(
    'is no folder of measured tables: expected workloads.csv and colocations2.csv',
  )
  rmSync(path.join(folder, 'colocations2.csv'))
  write('workloads.csv', formatWorkloadTable(workloads))
  expect(() => readStudy(folder)).toThrow('is no folder of measured tables')
})
