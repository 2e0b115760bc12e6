/** Wait for all, also where one fails, so that nothing goes on behind the caller's back; then throw the first failure. */
export async function allOrFirstError(promises: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(promises)) {
    if (outcome.status === 'rejected') throw outcome.reason
  }
}
