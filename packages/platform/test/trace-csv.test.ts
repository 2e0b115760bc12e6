import { formatTraceCsv, type TraceRow } from '@pctodl/platform'
import { parseTraceCsv, TraceFormatError } from '@pctodl/platform/trace-csv'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const referenceHeader =
  'model_name,p_list,b_list,target_freq,mem_freq,sm_freq,sm_util,mem_util,throughput_total,power_avg,power_max'

const measured = (digits: number, max: number) =>
  fc.integer({ min: 1, max: max * 10 ** digits }).map((n) => Number((n / 10 ** digits).toFixed(digits)))

const traceRow: fc.Arbitrary<TraceRow> = fc
  .array(
    fc.record({
      model: fc.constantFrom('resnet50', 'vgg19', 'maxvit_t'),
      mpsPercent: fc.integer({ min: 1, max: 100 }),
      batchSize: fc.integer({ min: 1, max: 256 }),
    }),
    { minLength: 1, maxLength: 20 },
  )
  .chain((tenants) => {
    const perTenant = fc.array(measured(3, 5000), { minLength: tenants.length, maxLength: tenants.length })
    return fc.record({
      tenants: fc.constant(tenants),
      targetSmClockMhz: fc.option(fc.integer({ min: 210, max: 2100 })),
      memClockMhz: fc.constantFrom(1215, 5001, 9501),
      smClockMhz: measured(1, 2100),
      smUtilPercent: measured(1, 100),
      memUtilPercent: measured(1, 100),
      throughput: measured(2, 20_000),
      powerAverageW: measured(2, 400),
      powerMaxW: measured(2, 400),
      tenantThroughput: fc.oneof(fc.constant([]), perTenant),
      tenantLatencyMs: fc.oneof(fc.constant([]), perTenant),
      memoryUsedBytes: fc.option(fc.integer({ min: 0, max: 40_000 }).map((mib) => mib * 1024 ** 2)),
      failed: fc.boolean(),
    })
  })

describe('parseTraceCsv', () => {
  it('reads back what formatTraceCsv writes', () => {
    fc.assert(
      fc.property(fc.array(traceRow, { minLength: 1, maxLength: 8 }), (rows) => {
        expect(parseTraceCsv(formatTraceCsv(rows))).toEqual(rows)
      }),
    )
  })

  it('keeps a failed row that was not measured blank, never zero', () => {
    const nothing = { smClockMhz: NaN, smUtilPercent: NaN, memUtilPercent: NaN, throughput: NaN }
    const failed: TraceRow = {
      tenants: [{ model: 'vgg19', mpsPercent: 10, batchSize: 256 }],
      targetSmClockMhz: null,
      memClockMhz: 9501,
      ...nothing,
      powerAverageW: NaN,
      powerMaxW: NaN,
      tenantThroughput: [],
      tenantLatencyMs: [],
      memoryUsedBytes: null,
      failed: true,
    }
    const text = formatTraceCsv([failed])
    expect(text.split('\n')[1]).toBe('vgg19,"[10]","[256]",,9501,,,,,,,,,,,1')
    expect(parseTraceCsv(text)).toEqual([failed])
    expect(() => parseTraceCsv(text.replace(',1\n', ',0\n'))).toThrow(TraceFormatError)
  })

  it("reads the Python code's eleven columns", () => {
    const rows = parseTraceCsv(
      [
        referenceHeader,
        'resnet50,"[25, 25.0]","[8, 16.0]",,9501.0,1935.0,97.5,41.2,1312.5,301.4,310.0',
        'resnet50,50.0,8,1200,9501,1200,80,20,900,200,210',
        'vgg19,"[10]","[128]",,9501,210,0,0,0,0,0',
      ].join('\r\n'),
    )
    expect(rows[0]).toEqual({
      tenants: [
        { model: 'resnet50', mpsPercent: 25, batchSize: 8 },
        { model: 'resnet50', mpsPercent: 25, batchSize: 16 },
      ],
      targetSmClockMhz: null,
      memClockMhz: 9501,
      smClockMhz: 1935,
      smUtilPercent: 97.5,
      memUtilPercent: 41.2,
      throughput: 1312.5,
      powerAverageW: 301.4,
      powerMaxW: 310,
      tenantThroughput: [],
      tenantLatencyMs: [],
      memoryUsedBytes: null,
      failed: false,
    })
    expect(rows[1]).toMatchObject({
      tenants: [{ model: 'resnet50', mpsPercent: 50, batchSize: 8 }],
      targetSmClockMhz: 1200,
      failed: false,
    })
    expect(rows[2]!.failed).toBe(true)
  })

  it('takes columns in any order and ignores others', () => {
    const columns = referenceHeader.split(',').reverse()
    const values = '310,301,1312,41,97,1935,9501,,8,50,resnet50'
    const [row] = parseTraceCsv(`note,${columns.join(',')}\nx,${values}\n`)
    expect(row).toMatchObject({ tenants: [{ model: 'resnet50', mpsPercent: 50, batchSize: 8 }], powerMaxW: 310 })
  })

  const good: Record<string, string> = {
    model_name: 'resnet50',
    p_list: '"[25, 25]"',
    b_list: '"[8, 8]"',
    target_freq: '',
    mem_freq: '9501',
    sm_freq: '1935',
    sm_util: '97',
    mem_util: '41',
    throughput_total: '1312',
    power_avg: '301',
    power_max: '310',
    throughput_list: '',
    latency_ms_list: '',
    memory_used_mib: '',
    model_list: '',
    failed: '0',
  }
  it.each([
    ['p_list', '"[25, x]"'],
    ['p_list', '"[25, 125]"'],
    ['p_list', '[]'],
    ['p_list', '"[25, NaN]"'],
    ['b_list', '8'],
    ['b_list', '"[8, 0]"'],
    ['b_list', '"[8, 2.5]"'],
    ['target_freq', 'max'],
    ['mem_freq', ''],
    ['sm_freq', '-1'],
    ['throughput_total', 'nan'],
    ['power_avg', '0x10'],
    ['model_name', ''],
    ['model_list', '[resnet50]'],
    ['throughput_list', '[5]'],
    ['latency_ms_list', '"[5, -1]"'],
    ['memory_used_mib', 'much'],
    ['failed', 'maybe'],
  ])('names row and column where %s is %s', (column, value) => {
    const columns = Object.keys(good)
    const line = (row: Record<string, string>) => columns.map((name) => row[name]).join(',')
    const text = [columns.join(','), line(good), line({ ...good, [column]: value })].join('\n')
    expect(() => parseTraceCsv(text)).toThrowError(TraceFormatError)
    expect(() => parseTraceCsv(text)).toThrowError(`row 2, column '${column}'`)
  })

  it('names a column that is missing, and a row that is cut short', () => {
    expect(() => parseTraceCsv(referenceHeader.replace(',power_max', ''))).toThrowError("header, column 'power_max'")
    expect(() => parseTraceCsv('')).toThrowError(TraceFormatError)
    expect(() => parseTraceCsv(`${referenceHeader}\nresnet50,50,8`)).toThrowError('row 1')
    expect(() => parseTraceCsv(`${referenceHeader}\n"resnet50,50`)).toThrowError(TraceFormatError)
  })
})
