import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { InvalidInputError } from '@pctodl/platform'

/**
 * Size and number of files of a data set: of its folder `train` where it has one. A file is taken for a sample.
 *
 * @throws InvalidInputError where there is no such folder or it is empty
 */
export function measureDataset(folder: string): { gb: number; samples: number; files: string[] } {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new InvalidInputError('data', folder, 'a folder; or say --dataset-gb and --num-samples')
  }
  const train = path.join(folder, 'train')
  const root = existsSync(train) ? train : folder
  let bytes = 0
  const files: string[] = []
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    bytes += statSync(file).size
    files.push(file)
  }
  if (bytes === 0)
    throw new InvalidInputError('data', root, 'a folder with files; or say --dataset-gb and --num-samples')
  return { gb: bytes / 2 ** 30, samples: files.length, files }
}
