/** Quotations in Markdown: fences, one in another, with every line that marks a record of a format. */
import fc from 'fast-check'

/** Lines that mark a record of a Markdown format, if they are not quoted. */
export const MARKERS: Readonly<Record<string, readonly string[]>> = {
  aider: [
    '# aider chat started at 2026-03-11 09:00:00',
    '#### Sink the ship.  ',
    '> Aider v0.1.0  ',
    '> Tokens: 9k sent, 9 received.  ',
  ],
  specstory: [
    '_**User (2026-03-11 09:00:00Z)**_',
    '_**Agent (model-z 2026-03-11 09:00:00Z)**_',
    '_**Agent - sidechain (model-z)**_',
    '<!-- Claude Code Session other (2026-03-11 09:00:00Z) -->',
    '<!-- message-id: other -->',
    '---',
    '<tool-use data-tool-type="shell" data-tool-name="Sink"><details>',
    '**Result:**',
    '</details></tool-use>',
    '<think><details><summary>Thought Process</summary>',
    '</details></think>',
  ],
}

/** A quotation as lines. A fence in a fence has an info string, or is shorter than the outer one. */
export function quotationOf(program: string): fc.Arbitrary<readonly string[]> {
  const line = fc.constantFrom('', 'text', '    indented', ...(MARKERS[program] ?? []))
  const content = fc.array(line, { minLength: 1, maxLength: 4 })
  const inner = fc
    .tuple(content, fc.constantFrom('```py', '``` markdown', '```text'))
    .map(([lines, fence]) => [fence, ...lines, '```'])
  const outer = fc.constantFrom(
    ['```markdown', '```'],
    ['````', '````'],
    ['```', '```'],
    ['~~~md', '~~~'],
    ['  ```text', '  ```'],
    ['`````md', '`````'],
  )
  return fc
    .tuple(outer, content, fc.option(inner, { nil: [] }), content)
    .map(([[open = '', close = ''], ...parts]) => [open, ...parts.flat(), close])
}
