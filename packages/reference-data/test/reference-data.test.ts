import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import {
  golden,
  goldenRows,
  type MeasuredTableName,
  measuredTable,
  measuredTables,
  referenceFiles,
  referenceFolder,
  referenceSources,
} from '@pctodl/reference-data'
import { describe, expect, it } from 'vitest'

const packageFolder = path.resolve(import.meta.dirname, '..')
const read = (name: string) => readFileSync(path.join(packageFolder, name), 'utf8')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const stored = readdirSync(path.join(packageFolder, 'files'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => path.relative(path.join(packageFolder, 'files'), path.join(entry.parentPath, entry.name)))

describe('the manifest', () => {
  it('has every file, and every file is there', () => {
    const named = referenceFiles.map(({ name, compressed }) => (compressed ? `${name}.br` : name))
    expect(named.sort()).toEqual(stored.sort())
  })

  it.each(referenceFiles.map((file) => [file.name, file] as const))('knows what is in %s', (name, file) => {
    expect(sha256(golden(name))).toBe(file.sha256)
    // What was left out of the original is told, and nothing else is.
    expect(file.reduced === null).toBe(file.sha256 === file.original.sha256)
    expect(referenceSources).toHaveProperty(file.source)
  })

  it('has no source without a file, and a notice for each that asks for one', () => {
    expect(new Set(referenceFiles.map(({ source }) => source))).toEqual(new Set(Object.keys(referenceSources)))
    const notice = read('NOTICE')
    for (const { origin, licence, notice: own } of Object.values(referenceSources)) {
      expect(notice).toContain(origin.split(' at ')[0])
      if (licence !== 'none') expect(notice).toContain(own)
    }
  })

  it('is of a private package for as long as a source has no licence', () => {
    const unlicensed = Object.values(referenceSources).some(({ licence }) => licence === 'none')
    expect(JSON.parse(read('package.json')).private).toBe(unlicensed)
  })

  it('keeps the repository small: 3 MB', () => {
    const bytes = stored.reduce((sum, name) => sum + statSync(path.join(packageFolder, 'files', name)).size, 0)
    expect(bytes).toBeLessThan(3e6)
  })
})

describe('a reference', () => {
  it('that is unknown names those that there are', () => {
    expect(() => golden('kace/nothing.csv')).toThrow(
      /unknown reference 'kace\/nothing\.csv'; known: .*kace\/colocations2/,
    )
    expect(() => referenceFolder('nothing')).toThrow(/unknown reference 'nothing'; known: .*zeus2/)
  })

  it('is a row by column, commas and quotes read', () => {
    const rows = goldenRows('kace/pair_mps_sweep.csv')
    expect(rows[0]).toMatchObject({ '(LS10, BE90)': '(3.506644513912402, 23.724109338200996)' })
  })

  it('is a file in an unpacked folder, the same each time', () => {
    const folder = referenceFolder('zeus2')
    expect(referenceFolder('zeus2')).toBe(folder)
    expect(readdirSync(folder).sort()).toEqual(
      referenceFiles.flatMap(({ name }) => (name.startsWith('zeus2/') ? name.slice('zeus2/'.length) : [])).sort(),
    )
    expect(readFileSync(path.join(folder, 'golden.json'), 'utf8')).toBe(golden('zeus2/golden.json'))
  })
})

describe('a measured table', () => {
  const names = Object.keys(measuredTables) as MeasuredTableName[]

  it('is described wherever there is one, and has a licence', () => {
    const files = referenceFiles.filter(({ name }) => name.startsWith('measured/'))
    expect(files.map(({ name }) => path.basename(name, '.csv')).sort()).toEqual([...names].sort())
    for (const { name, source } of files) {
      expect(measuredTables[path.basename(name, '.csv') as MeasuredTableName].source).toBe(source)
      expect(referenceSources[source]!.licence).not.toBe('none')
    }
  })

  it.each(names)('%s has the columns that its type says', (name) => {
    expect(measuredTable(name).length).toBeGreaterThan(5)
  })

  it('has numbers in units, and null where the source says nothing', () => {
    const sweep = measuredTable('cap_sweep_llm')
    const decode = sweep.filter(({ workload }) => workload.startsWith('decode'))
    for (const { cap_w, power_w, throughput_tok_s } of sweep) {
      expect(power_w).toBeLessThan(cap_w + 1)
      expect(throughput_tok_s).toBeGreaterThan(0)
    }
    expect(decode.length).toBeGreaterThan(0)
    expect(sweep.some(({ throughput2_tok_s }) => throughput2_tok_s === null)).toBe(true)
    const arrivals = measuredTable('arrivals_azure_llm_conv')
    expect(arrivals[0]).toEqual({ t_s: 0, prompt_tokens: 374, output_tokens: 44 })
    expect(arrivals.at(-1)!.t_s).toBeLessThan(600)
  })

  it('tells of a network what its board does', () => {
    for (const board of ['rtx3090', 'rtx4090', 'rtx5090', 'pro6000'] as const) {
      const networks = new Set(measuredTable(`throughput_networks_${board}`).map(({ model }) => model.split('.')[0]))
      for (const network of ['resnet50', 'densenet201', 'mobilenetv2_100']) expect(networks, board).toContain(network)
    }
  })
})
