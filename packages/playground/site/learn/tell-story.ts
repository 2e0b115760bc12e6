import { modelNamed } from '../work/models.js'
import { tellOfBatches } from './stories/batches-story.js'
import { tellOfClocks } from './stories/clock-story.js'
import { tellOfEnergy } from './stories/energy-story.js'
import { tellOfPeaks } from './stories/peaks-story.js'
import { tellOfShares } from './stories/shares-story.js'
import { tellOfTheUnknown } from './stories/unknown-story.js'
import type { StoryName, StorySubject, Teller, ToldStory } from './story.js'

const tellers: Readonly<Record<StoryName, Teller>> = {
  clock: tellOfClocks,
  shares: tellOfShares,
  batches: tellOfBatches,
  energy: tellOfEnergy,
  peaks: tellOfPeaks,
  unknown: tellOfTheUnknown,
}

/** @throws UnknownNameError for a board or a network without parameters */
export async function tellStory({ name, board, model }: StorySubject & { name: StoryName }): Promise<ToldStory> {
  return tellers[name](modelNamed(board), model)
}
