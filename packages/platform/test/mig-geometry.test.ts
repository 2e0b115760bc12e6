import { findGpuSpec, findMigGeometry, freePlacements, migGeometries, migLayouts, migProfiles } from '@pctodl/platform'
import { describe, expect, it } from 'vitest'

const boards = Object.values(migGeometries)

/** Profiles and how many instances of each, as the tables of NVIDIA's MIG User Guide list them. */
const guide: Readonly<Record<string, string>> = {
  A30: '1g.6gb 4, 2g.12gb 2, 4g.24gb 1',
  A100: '1g.5gb 7, 1g.10gb 4, 2g.10gb 3, 3g.20gb 2, 4g.20gb 1, 7g.40gb 1',
  'A100-80GB': '1g.10gb 7, 1g.20gb 4, 2g.20gb 3, 3g.40gb 2, 4g.40gb 1, 7g.80gb 1',
  H100: '1g.10gb 7, 1g.20gb 4, 2g.20gb 3, 3g.40gb 2, 4g.40gb 1, 7g.80gb 1',
  'H100-96GB': '1g.12gb 7, 1g.24gb 4, 2g.24gb 3, 3g.48gb 2, 4g.48gb 1, 7g.96gb 1',
  H200: '1g.18gb 7, 1g.35gb 4, 2g.35gb 3, 3g.71gb 2, 4g.71gb 1, 7g.141gb 1',
  B200: '1g.23gb 7, 1g.45gb 4, 2g.45gb 3, 3g.90gb 2, 4g.90gb 1, 7g.180gb 1',
}

describe('MIG geometry', () => {
  it('has the profiles and numbers of instances of the guide', () => {
    expect(boards.map(({ key }) => key)).toEqual(Object.keys(guide))
    for (const { key, profiles } of boards) {
      expect(profiles.map(({ name, placements }) => `${name} ${placements.length}`).join(', ')).toBe(guide[key])
    }
  })

  it('is found by names that drivers report, and names the boards it knows otherwise', () => {
    expect(findMigGeometry('NVIDIA A30').key).toBe('A30')
    expect(findMigGeometry('a100-80gb').key).toBe('A100-80GB')
    expect(() => findMigGeometry('T4')).toThrow(/unknown GPU with MIG.*A30, A100/)
  })

  it.each([
    // Without double memory: 6 ways for the four slices on the left (4, 3, 2-2, 2-1-1, 1-1-2, 1-1-1-1), 3 on the right, and 7.
    ['A100', false, 19],
    ['H100', false, 19],
    ['B200', false, 19],
    ['A30', true, 5],
    // With it each pair of slices has a third way, and so has the last place: (2 + 3 · 3) · (1 + 3 · 2) + 1.
    ['A100', true, 78],
    ['H200', true, 78],
  ])('of %s has as many full layouts as the guide draws (double memory: %s)', (key, double, count) => {
    const geometry = findMigGeometry(key)
    const profiles = geometry.profiles.filter(
      ({ computeSlices, memorySlices }) => double || computeSlices > 1 || memorySlices === 1,
    )
    const layouts = migLayouts({ ...geometry, profiles })
    expect(layouts).toHaveLength(count)
    const names = layouts.map((layout) => layout.map(({ profile, start }) => `${profile.name}@${start}`).join())
    expect(new Set(names).size).toBe(count)
  })

  it.each(boards.map(({ key }) => key))('of %s never gives a slice twice, and no layout has room left', (key) => {
    const geometry = findMigGeometry(key)
    for (const layout of migLayouts(geometry)) {
      const slices = layout.flatMap(({ profile, start }) =>
        Array.from({ length: profile.memorySlices }, (_, i) => start + i),
      )
      expect(new Set(slices).size).toBe(slices.length)
      expect(Math.max(...slices)).toBeLessThan(geometry.memorySlices)
      const compute = layout.reduce((sum, { profile }) => sum + profile.computeSlices, 0)
      expect(compute).toBeLessThanOrEqual(geometry.computeSlices)
      for (const profile of geometry.profiles) {
        const fits = profile.computeSlices <= geometry.computeSlices - compute
        expect(fits && freePlacements(profile, layout).length > 0).toBe(false)
      }
    }
  })

  it('is what the boards with known SMs have', () => {
    for (const key of ['A100', 'A100-80GB', 'H100', 'H200']) {
      const geometry = findMigGeometry(key)
      expect(migProfiles(findGpuSpec(key)).map(({ smCount, ...slot }) => slot)).toEqual(geometry.profiles)
    }
    expect(migProfiles(findGpuSpec('T4'))).toEqual([])
  })
})
