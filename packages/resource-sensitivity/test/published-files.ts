import path from 'node:path'
import { golden, goldenJson, referenceFolder } from '@pctodl/reference-data'

/** Published traces, tables and results. */
export const published = (file: string): string => golden(`synergy/${file}`)
// biome-ignore lint/suspicious/noExplicitAny: each test knows what its file holds
export const publishedJson = (file: string): any => goldenJson(`synergy/${file}`)
export const publishedPath = (file: string): string => path.join(referenceFolder('synergy'), file)
