import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tellStory } from '../site/learn/stories.js'
import { storyNames } from '../site/learn/story.js'
import { barriersEverywhere, browserFile, inBrowser, OpenedPlayground } from './open-page.js'

const subject = { board: 'A100', model: 'vgg19' }

describe('every story', () => {
  it.each(['3080Ti', 'A100'])('can be told of %s and each of its networks', async (board) => {
    for (const model of ['mnasnet1_0', 'resnet50', 'maxvit_t']) {
      for (const name of storyNames) {
        const { finding, plot } = await tellStory({ name, board, model })
        expect(finding).toContain('.')
        expect(finding).not.toMatch(/NaN|undefined|null|Infinity/)
        expect(plot.values).toHaveLength(plot.curves.length + 1)
        for (const column of plot.values) expect(column).toHaveLength(plot.values[0]!.length)
      }
    }
  })
})

describe.skipIf(browserFile === undefined)(inBrowser, () => {
  let playground: OpenedPlayground
  beforeAll(async () => {
    playground = await OpenedPlayground.make()
  })
  afterAll(() => playground?.close())

  it('tells its stories with the figures of the libraries', async () => {
    const complaints: string[] = []
    const page = await playground.open(`#/learn?gpu=${subject.board}&model=resnet50`, complaints)
    await page.selectOption('select >> nth=1', subject.model)
    await page.waitForURL(/model=vgg19/)
    await page.waitForSelector('[data-told=true]')
    for (const name of storyNames) {
      const { finding } = await tellStory({ name, ...subject })
      await page.locator(`[data-story=${name}]:text-is("${finding}")`).waitFor()
    }
    expect(await page.locator('.story canvas').count()).toBe(storyNames.length)
    expect(await barriersEverywhere(page)).toEqual([])
    expect(complaints).toEqual([])
    await page.close()
  })
})
