/** Waits for all promises, even if one fails, so that no work goes on unnoticed. Then throws the first failure. */
export async function allOrFirstError(promises: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(promises)) {
    if (outcome.status === 'rejected') throw outcome.reason
  }
}
