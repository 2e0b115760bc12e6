// The simulator of the Synergy study (Mohan et al., OSDI '22), reproduced job by job.

export {
  type PublishedJobResult,
  type PublishedOptions,
  type PublishedResult,
  type PublishedRound,
  simulatePublished,
} from './simulate-published.js'
