import { golden, goldenJson } from '@pctodl/reference-data'

/** Published traces, tables and results. */
export const published = (file: string): string => golden(`synergy/${file}`)
// biome-ignore lint/suspicious/noExplicitAny: each test knows what its file holds
export const publishedJson = (file: string): any => goldenJson(`synergy/${file}`)
