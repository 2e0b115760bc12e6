import { firstSubject, type StorySubject } from '../learn/story.js'

/** The Learn room's state as the words of an address. */
export function learnWords({ board, model }: StorySubject): URLSearchParams {
  return new URLSearchParams({ gpu: board, model })
}

/** What an address names; what is absent is as usual. */
export function learnOfWords(words: URLSearchParams): StorySubject {
  return { board: words.get('gpu') ?? firstSubject.board, model: words.get('model') ?? firstSubject.model }
}
