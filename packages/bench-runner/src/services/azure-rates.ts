/**
 * Requests that came in each 5 s of the first ten minutes of the Azure LLM inference trace of 16 November 2023 (Patel et al.,
 * Splitwise, ISCA 2024; github.com/Azure/AzurePublicDataset, CC-BY-4.0): counted, otherwise unchanged. Used as shapes of a load,
 * scaled to a mean of a task's own.
 */

/** A code completion service: bursts with quiet gaps. */
export const azureCodeCounts: readonly number[] = [
  12, 0, 0, 0, 0, 5, 26, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 20,
  20, 112, 32, 8, 14, 38, 82, 55, 108, 33, 0, 0, 0, 0, 40, 19, 37, 27, 20, 1, 16, 27, 36, 31, 14, 0, 0, 0, 0, 19, 25, 5,
  0, 0, 0, 0, 0, 0, 6, 9, 0, 0, 0, 0, 0, 0, 21, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17, 21, 0, 0, 0,
  0, 0, 0, 28, 35, 44, 163, 71, 104, 31, 0, 0,
]

/** A conversation service: it varies by the minute. */
export const azureConversationCounts: readonly number[] = [
  4, 9, 11, 7, 11, 17, 15, 15, 24, 34, 27, 17, 30, 21, 19, 25, 20, 26, 20, 19, 22, 17, 25, 21, 25, 27, 22, 21, 29, 33,
  23, 35, 30, 29, 20, 35, 35, 35, 22, 24, 29, 25, 42, 22, 19, 38, 38, 24, 19, 25, 29, 28, 27, 24, 19, 29, 34, 21, 28,
  24, 27, 29, 25, 17, 24, 24, 14, 23, 23, 25, 20, 22, 23, 20, 19, 23, 23, 23, 24, 26, 23, 26, 20, 18, 17, 23, 21, 19,
  20, 30, 30, 24, 23, 16, 16, 22, 26, 33, 29, 27, 26, 23, 23, 28, 22, 26, 32, 27, 23, 21, 35, 18, 20, 29, 33, 21, 26,
  21, 21, 30,
]
