// The simulator of the Synergy study (Mohan et al., OSDI '22), reproduced job by job.

export { type PublishedOptions, type PublishedRound, simulatePublished } from './simulate-published.js'
