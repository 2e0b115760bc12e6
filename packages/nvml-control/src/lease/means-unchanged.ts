/** Answers of a driver that has not even begun. After any other failure a change may be in force. */
const refusals = [
  'NO_PERMISSION',
  'NOT_SUPPORTED',
  'NVML_INVALID_ARGUMENT',
  'NVML_FREQUENCY_NOT_SUPPORTED',
  'NVML_FUNCTION_NOT_FOUND',
]

/** Whether a failed change has certainly changed nothing. */
export function meansUnchanged(error: unknown): boolean {
  return refusals.includes((error as { readonly code?: string }).code ?? '')
}
