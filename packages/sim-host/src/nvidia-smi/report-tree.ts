/** One line or one section of the full report. The text and the XML of `nvidia-smi -q` show the same tree. */
export type ReportNode =
  | { readonly label: string; readonly tag: string; readonly value: string }
  | {
      readonly label: string
      readonly tag: string
      readonly children: readonly ReportNode[]
      /** Argument of `-d` that selects this section. */
      readonly display?: string
      /** Value on the line of the section's title. XML has a separate element for it. */
      readonly heading?: { readonly tag: string; readonly value: string }
      /** Value to print if the section has no children; in XML, the element is empty instead. */
      readonly whenEmpty?: string
    }

/**
 * Reads a part of the report from its outline. Each line of the outline is a line of the report, `label | tag | value`,
 * or a section, `label | tag` or `label | tag | -d DISPLAY`, whose lines follow with two spaces more indentation. A value
 * is the name of a field, or a constant text after `=`.
 *
 * @param read returns the value of a field
 */
export function reportOf(outline: string, read: (field: string) => string): ReportNode[] {
  const root: ReportNode[] = []
  const open = [root]
  for (const line of outline.split('\n').filter((each) => each.trim() !== '')) {
    const [label = '', tag = '', value] = line.split('|').map((part) => part.trim())
    const depth = line.search(/\S/) / 2
    const isSection = value === undefined || value.startsWith('-d ')
    const children: ReportNode[] = []
    open[depth]!.push(
      isSection
        ? { label, tag, children, ...(value === undefined ? {} : { display: value.slice(3) }) }
        : { label, tag, value: value.startsWith('=') ? value.slice(1) : read(value) },
    )
    if (isSection) open[depth + 1] = children
  }
  return root
}

const VALUE_COLUMN = 42

export function renderText(nodes: readonly ReportNode[], depth = 0): string {
  const indent = '    '.repeat(depth)
  return nodes
    .map((node) => {
      const label = indent + node.label
      const value =
        'value' in node ? node.value : (node.heading?.value ?? (node.children.length ? undefined : node.whenEmpty))
      const line = value === undefined ? `${label}\n` : `${label.padEnd(VALUE_COLUMN)}: ${value}\n`
      return 'value' in node ? line : line + renderText(node.children, depth + 1)
    })
    .join('')
}

export function renderXml(nodes: readonly ReportNode[], depth: number): string {
  const indent = '\t'.repeat(depth)
  return nodes
    .map((node) => {
      if ('value' in node) return `${indent}<${node.tag}>${escaped(node.value)}</${node.tag}>\n`
      const heading = node.heading
        ? `${indent}\t<${node.heading.tag}>${node.heading.value}</${node.heading.tag}>\n`
        : ''
      return `${indent}<${node.tag}>\n${heading}${renderXml(node.children, depth + 1)}${indent}</${node.tag}>\n`
    })
    .join('')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
