import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { control } from '../src/constants.js'

const folder = new URL('../src/', import.meta.url)

describe('constants of the control', () => {
  it('are at most 25, all positive', () => {
    expect(Object.keys(control).length).toBeLessThanOrEqual(25)
    for (const value of Object.values(control)) expect(value).toBeGreaterThan(0)
  })

  it('are in one table: no other file names a number or writes one with a fraction', () => {
    for (const file of readdirSync(folder).filter((name) => name !== 'constants.ts')) {
      const code = readFileSync(new URL(file, folder), 'utf8').replace(/^\s*(\/?\*|\/\/).*$/gm, '')
      expect(code, file).not.toMatch(/const [A-Z_]+ = [\d.]|\W\d*\.\d/)
    }
  })
})
