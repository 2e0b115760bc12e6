import { readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { root, workspacePackages } from './pack-packages.js'

/** The first example of each package's README, by folder, and those of the root README (`the-repository-1`, ...). */
export function readmeExamples(): Map<string, string> {
  const ofPackages = workspacePackages().flatMap(({ folder }) => {
    const [first] = programsOf(`${folder}/README.md`)
    return first === undefined ? [] : [[path.basename(folder), first] as const]
  })
  const ofRepository = programsOf('README.md').map((program, i) => [`the-repository-${i + 1}`, program] as const)
  return new Map([...ofRepository, ...ofPackages])
}

/** The programs that a page shows. */
export function programsOf(page: string): string[] {
  return [...readFileSync(path.join(root, page), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
    ([, program]) => program!,
  )
}

/** An example without its types, as a module that Node.js loads. */
export function javaScriptOf(source: string): string {
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  return outputText
}
