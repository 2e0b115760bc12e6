import type { StoryName } from './story.js'

/** What stays true of every board. */
export const storyTexts: Readonly<Record<StoryName, { readonly title: string; readonly text: readonly string[] }>> = {
  clock: {
    title: 'A lower clock costs less than it seems',
    text: [
      'A power limit lets the firmware lower the SM clock until the watts fit. Setting the clock does the same, only on purpose: and since voltage falls with the clock, power falls faster than speed.',
      'Work that waits for memory hardly notices. That is why a planner looks at each network, and not at the watts alone.',
    ],
  },
  shares: {
    title: 'What an MPS share does',
    text: [
      'A share bounds how many of the SMs a process may use. One process alone leaves them idle between its kernels and while its host prepares the next batch; several fill those gaps.',
      'Too many, and each has too few SMs for a kernel, or memory for all of them is gone. The best number depends on the network.',
    ],
  },
  batches: {
    title: 'A batch that is large enough',
    text: [
      'A larger batch keeps the SMs busier, but everything in it waits until all of it is done. Beyond some size, latency grows with the batch and throughput does not.',
      'A latency objective in the Plan room is how you say where to stop.',
    ],
  },
  energy: {
    title: 'The cheapest clock is neither end',
    text: [
      'At a low clock the board stays on for longer, and the watts that it draws anyway are paid for longer. At a high clock the voltage is high. Between them a sample costs least.',
      'A lower memory clock saves watts, too, where memory is not what holds the work up.',
    ],
  },
  peaks: {
    title: 'What an average hides',
    text: [
      "The firmware's power reading is not the power of this instant. A policy that steers by it is late, and a cap that holds on average may be exceeded again and again.",
      'So controllers here look at what the load does, keep the board’s own limit as a fast second hold, and are judged by the true power.',
    ],
  },
  unknown: {
    title: 'What the predictor does not know',
    text: [
      'The predictor is fitted to measured configurations and knows a dozen numbers of a board. For each prediction it says how far off it may be, and the planner can be told which risk to take.',
      'Each dot is the simulated board; the lines are the interval. Here both are ours: on a real board fit your own traces, and see the same of them.',
    ],
  },
}
