import { loadPerfModel, ParameterVersionError, parsePerfModelParameters, shippedParameters } from '@pctodl/perf-model'
import { InvalidInputError } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

const shipped = shippedParameters['A100'] as Record<string, unknown>

it('a model is not loaded without a name of a board', () => {
  expect(() => loadPerfModel(undefined as never)).toThrow(/unknown board undefined; known: 3080Ti, A100/)
})

describe('parsePerfModelParameters', () => {
  it.each(Object.keys(shippedParameters))('takes the shipped file of %s, unchanged', (board) => {
    const parsed = parsePerfModelParameters(JSON.parse(JSON.stringify(shippedParameters[board])))
    expect(parsed).toEqual(shippedParameters[board])
    expect(parsed.board).toBe(board)
    expect(parsed.provenance.heldOutErrors.length).toBeGreaterThan(0)
  })

  it.each<[string, number, number]>([
    ['throughput', 2, 8],
    ['power', 1, 4],
  ])('has, as the fitting script left them, held-out errors of %s within %d %% and %d %%', (quantity, median, p95) => {
    for (const board of Object.keys(shippedParameters)) {
      const { provenance } = parsePerfModelParameters(shippedParameters[board])
      const found = provenance.heldOutErrors.find((entry) => entry.quantity === quantity && entry.rows === 'all')!
      expect(found.count).toBe(provenance.rows)
      expect(found.median).toBeLessThanOrEqual(median)
      expect(found.p95).toBeLessThanOrEqual(p95)
    }
  })

  it('refuses another schema version by a class of its own', () => {
    for (const schemaVersion of [0, 1, 2, '3', null]) {
      expect(() => parsePerfModelParameters({ ...shipped, schemaVersion })).toThrowError(ParameterVersionError)
    }
  })

  it.each<[string, (file: ReturnType<typeof parsePerfModelParameters>) => void]>([
    ['parameters.errors.1.quantity', (file) => file.errors.fill(file.errors[0]!)],
    ['parameters.errors.0.residual', (file) => file.errors[0]!.residual.pop()],
    ['parameters.networks.1.name', (file) => file.networks.fill(file.networks[0]!)],
  ])('names %s, of which only a part would count', (field, spoil) => {
    const file = structuredClone(parsePerfModelParameters(shipped))
    spoil(file)
    expect(() => parsePerfModelParameters(file)).toThrow(`${field}:`)
  })

  it.each<[string, unknown]>([
    ['parameters', null],
    ['parameters', []],
    ['parameters.schemaVersion', { ...shipped, schemaVersion: undefined }],
    ['parameters.networks', { ...shipped, networks: [] }],
    ['parameters.board', { ...shipped, board: '' }],
    [
      'parameters.boardParameters.launchClients',
      { ...shipped, boardParameters: { ...(shipped['boardParameters'] as object), launchClients: 0 } },
    ],
    [
      'parameters.boardParameters.voltageFloor',
      { ...shipped, boardParameters: { ...(shipped['boardParameters'] as object), voltageFloor: Number.NaN } },
    ],
    [
      'parameters.boardParameters',
      { ...shipped, boardParameters: { ...(shipped['boardParameters'] as object), surprise: 1 } },
    ],
  ])('names %s', (field, json) => {
    expect(() => parsePerfModelParameters(json)).toThrow()
    try {
      parsePerfModelParameters(json)
    } catch (error) {
      expect(error).toSatisfy((e) => e instanceof InvalidInputError || e instanceof ParameterVersionError)
      if (error instanceof InvalidInputError) expect(error.field).toBe(field)
    }
  })
})
