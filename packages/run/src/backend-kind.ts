/** Kinds of board, as in `@pctodl/backend`. That package is not imported here, because it loads native libraries. */
export const backendKinds = ['auto', 'sim', 'nvml'] as const

export type BackendKind = (typeof backendKinds)[number]
