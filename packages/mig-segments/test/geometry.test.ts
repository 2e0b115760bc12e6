import {
  assignStarts,
  findMigBoard,
  findMigGeometry,
  footprints,
  migBoardKeys,
  type Placement,
  placementConflict,
  type SegmentSize,
  segmentSizes,
} from '@pctodl/platform'
import { describe, expect, it } from 'vitest'
import { patternsOf } from '../src/fleet/board-patterns.js'

const sizesOf = (counts: readonly number[]) =>
  counts.flatMap((count, s) => new Array<SegmentSize>(count).fill(segmentSizes[s]!))

/** Of each size the profile with the least memory. */
const geometry = findMigGeometry('A100')
const maximalPatterns = patternsOf({
  ...geometry,
  profiles: segmentSizes.map((size) => geometry.profiles.find(({ computeSlices }) => computeSlices === size)!),
})
  .map(({ counts }) => counts)
  .sort((a, b) => segmentSizes.reduce((order, _, s) => b[s]! - a[s]! || order, 0))

/** All multisets that fit 7 GPCs, legal or not. */
const multisets: number[][] = []
for (let ones = 0; ones <= 7; ones++)
  for (let twos = 0; twos <= 3; twos++)
    for (let threes = 0; threes <= 2; threes++)
      for (let fours = 0; fours <= 1; fours++)
        for (let sevens = 0; sevens <= 1; sevens++) multisets.push([ones, twos, threes, fours, sevens])

const isPart = (counts: readonly number[]) =>
  maximalPatterns.some((pattern) => counts.every((count, s) => count <= pattern[s]!))

describe('MIG geometry', () => {
  it.each(migBoardKeys)('of %s is the one table of boards', (key) => {
    const board = findMigBoard(key)
    const { profiles } = findMigGeometry(key)
    for (const size of segmentSizes) {
      const profile = profiles.find(({ name }) => name === board.profileNames[size])
      expect(profile, board.profileNames[size]).toMatchObject({
        memorySlices: footprints[size].memorySlices,
        placements: footprints[size].starts,
      })
    }
  })

  it('refuses boards without MIG and boards that do not exist', () => {
    expect(() => findMigBoard('T4')).toThrow(expect.objectContaining({ code: 'NOT_SUPPORTED' }))
    expect(() => findMigBoard('B9000')).toThrow(expect.objectContaining({ code: 'UNKNOWN_NAME' }))
    expect(() => findMigBoard('A30')).toThrow(/A30 has 4 slices; plan it as a fleet/)
    expect(findMigBoard('NVIDIA B200').profileNames[3]).toBe('3g.90gb')
  })

  it('finds starts for exactly the sets that are part of a maximal pattern', () => {
    for (const counts of multisets) {
      const sizes = sizesOf(counts)
      const starts = assignStarts(sizes)
      expect(starts !== null, sizes.join('-')).toBe(isPart(counts))
      if (starts) {
        const placements = sizes.map((sizeGpcs, i) => ({ sizeGpcs, start: starts[i]! }))
        expect(placementConflict(placements), sizes.join('-')).toBeNull()
      }
    }
  })

  it('has the twelve patterns, by the largest instances', () => {
    const text = maximalPatterns.map((counts) => sizesOf(counts).reverse().join('-'))
    expect(text).toEqual([
      ...['7', '4-3', '4-2-1', '4-1-1-1', '3-3', '3-2-2', '3-2-1-1', '3-1-1-1-1'],
      ...['2-2-2-1', '2-2-1-1-1', '2-1-1-1-1-1', '1-1-1-1-1-1-1'],
    ])
  })

  it('has no pattern that another contains', () => {
    for (const pattern of maximalPatterns) {
      expect(assignStarts(sizesOf(pattern)), pattern.join()).not.toBeNull()
      segmentSizes.forEach((_, s) => {
        expect(assignStarts(sizesOf(pattern.map((count, i) => count + (i === s ? 1 : 0))))).toBeNull()
      })
    }
  })

  it('names what is in the way', () => {
    const at = (sizeGpcs: SegmentSize, start: number): Placement => ({ sizeGpcs, start })
    expect(placementConflict([at(4, 0), at(1, 1)])).toMatch('1@1 overlaps 4@0 at memory slice 1')
    expect(placementConflict([at(2, 5)])).toMatch('cannot start at slice 5, only at 0, 2, 4')
    expect(placementConflict([at(3, 0), at(3, 4)])).toBeNull()
  })
})
