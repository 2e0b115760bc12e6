/** Kinds of board; the same words as in `@pctodl/backend`, which is loaded for real boards only. */
export const backendKinds = ['auto', 'sim', 'nvml'] as const

export type BackendKind = (typeof backendKinds)[number]
