/** A summary in the chat, folded: the ledger's own, of which each line leads to its sources, or another program's. */
import type { Child } from 'hono/jsx'
import { oneLine, visible } from './text.js'

/** The beginning of a summary for its heading: its first lines without the marks of Markdown and without machine headers. */
function previewOf(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.replaceAll(/^#+\s*|[*`]+/gu, '').trim())
    .filter((line) => line !== '' && !/^(?:\[.*\]|<\/?\w+>)$/u.test(line))
  return oneLine(lines.join(' '), 140)
}

export function SummaryCard({
  title,
  text,
  isOpen,
  tags,
  children,
}: {
  title: string
  text: string
  isOpen: boolean
  tags?: Child
  children?: Child
}): Child {
  return (
    <details class="summary" open={isOpen}>
      <summary>
        <b class="role">{title}</b> {tags}
        <span class="preview">{visible(previewOf(text))}</span>
      </summary>
      <div class="inside">{children}</div>
    </details>
  )
}
