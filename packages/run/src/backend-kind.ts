/** Kinds of board, with the same names as in `@pctodl/backend`. That package is loaded only for real boards. */
export const backendKinds = ['auto', 'sim', 'nvml'] as const

export type BackendKind = (typeof backendKinds)[number]
