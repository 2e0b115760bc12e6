/** One line or one section of the full report. The text and the XML of `nvidia-smi -q` show the same tree. */
export type ReportNode =
  | { readonly label: string; readonly tag: string; readonly value: string }
  | {
      readonly label: string
      readonly tag: string
      readonly children: readonly ReportNode[]
      /** Arguments of `-d` that select this section. A section without such names is always shown. */
      readonly display?: readonly string[]
      /** Value on the line of the section's title. XML has a separate element for it. */
      readonly heading?: { readonly tag: string; readonly value: string }
      /** Value to print if the section has no children; in XML, the element is empty instead. */
      readonly whenEmpty?: string
    }

export function item(label: string, tag: string, value: string): ReportNode {
  return { label, tag, value }
}

export function section(label: string, tag: string, children: readonly ReportNode[], ...display: string[]): ReportNode {
  return { label, tag, children, ...(display.length > 0 ? { display } : {}) }
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
