import type { StoppedBecause } from '../result.js'

export const stoppedWords: Readonly<Record<StoppedBecause, string>> = {
  'no-improving-move': 'no move improves it any more',
  'evaluation-budget': 'the evaluation budget is spent',
  'time-budget': 'the time budget is spent',
  'greedy-only': 'only the greedy stage was asked for',
  exhausted: 'everything was looked at',
}
