/** What runs are made on; the same words as in `@pctodl/backend`, which is loaded for a real board only. */
export const backendKinds = ['auto', 'sim', 'nvml'] as const

export type BackendKind = (typeof backendKinds)[number]
