import { describe, expect, it } from 'vitest'
import { parseCsvTable } from '../src/tables/csv-table.js'

const row = (value: string) => parseCsvTable(`name,value\na,${value}\n`, 't.csv').rows[0]!

describe('a cell of a table', () => {
  it('is a number of its kind, or an error that names its place', () => {
    expect([row('-2').number('value'), row('0').notNegative('value'), row('1e-9').positive('value')]).toEqual([
      -2, 0, 1e-9,
    ])
    expect(() => row('x').number('value')).toThrow("t.csv, line 2, column 'value': got 'x', expected a number")
    for (const value of ['Infinity', '1e308', '-1e16', '0x10'])
      expect(() => row(value).number('value')).toThrow('expected a number up to 1e15')
    expect(() => row('-1').notNegative('value')).toThrow('got -1, expected a number of at least 0')
    expect(() => row('0').positive('value')).toThrow('got 0, expected a number above 0')
    expect(() => row('').number('value')).toThrow('blank, expected a value')
    expect(() => row('1').text('other')).toThrow('blank')
  })

  it('may be blank where it says so', () => {
    expect([row('').optionalText('value'), row('1').optionalText('other'), row('b').optionalText('value')]).toEqual([
      undefined,
      undefined,
      'b',
    ])
  })
})

describe('a table', () => {
  it('has the columns that are needed, at least a row, and rows as long as its header', () => {
    expect(parseCsvTable('\ufeffa,b\n1,2\n\n 3 ,4\n', 't.csv', ['b']).rows.map((each) => each.number('a'))).toEqual([
      1, 3,
    ])
    expect(() => parseCsvTable('a,b\n1,2\n', 't.csv', ['a', 'c'])).toThrow(
      "line 1, column 'c': missing; the columns are a, b",
    )
    expect(() => parseCsvTable('a,b\n', 't.csv')).toThrow('no rows')
    expect(() => parseCsvTable('a,b\n1,2\n3\n', 't.csv')).toThrow('t.csv, line 3')
    const [, blank] = parseCsvTable('a,b\n1,2\n3,\n', 't.csv').rows
    expect([blank!.number('a'), blank!.optionalText('b'), blank!.line]).toEqual([3, undefined, 3])
  })
})
