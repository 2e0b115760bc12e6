import { describe, expect, it } from 'vitest'
import { visibleGpus } from '../src/visible-gpus.js'

const gpus = ['aa', 'ab', 'bc'].map((id, index) => ({ index, name: 'Tesla T4', uuid: `GPU-${id}`, key: 'T4' }))
const seen = (visible: string | undefined) => visibleGpus(gpus, visible).map(({ index }) => index)

describe('boards that are left to a process', () => {
  it('are all where nothing is said', () => {
    expect(seen(undefined)).toEqual([0, 1, 2])
    expect(seen('')).toEqual([0, 1, 2])
  })

  it('are named by index or by the beginning of a UUID', () => {
    expect(seen('1')).toEqual([1])
    expect(seen('2, 0')).toEqual([0, 2])
    expect(seen('GPU-ab')).toEqual([1])
    expect(seen('GPU-a')).toEqual([0, 1])
  })

  it('are none where none of them is there', () => {
    expect(seen('7')).toEqual([])
    expect(seen('-1')).toEqual([])
  })
})
