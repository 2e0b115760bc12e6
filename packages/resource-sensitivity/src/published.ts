// The published algorithms, for parity and as baselines: nothing else here imports them but the commands.

export {
  type PublishedJobResult,
  type PublishedOptions,
  type PublishedResult,
  type PublishedRound,
  simulatePublished,
} from './published/simulate-published.js'
