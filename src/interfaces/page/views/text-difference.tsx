/** Changed lines of a text, with signs and colours. */
import type { Child } from 'hono/jsx'
import type { Difference } from '../../../library/ledger.js'
import { count, cut, visible } from './text.js'

const UNCHANGED_LINES = 3
const MAX_LINES = 600

/** Line changes of a text, with a few unchanged lines around each change. */
export function TextDifference({
  changes,
  name = 'Changed lines',
  isScrolling = true,
}: {
  changes: Difference['view']
  /** Label for screen readers. */
  name?: string
  /** False if all lines are shown, for example in a tool call. */
  isScrolling?: boolean
}): Child {
  let remaining = MAX_LINES
  return (
    <div
      class="text diff"
      tabindex={isScrolling ? 0 : undefined}
      role={isScrolling ? 'region' : 'group'}
      aria-label={name}
    >
      {changes.map(({ kind, text }, index) => {
        const lines = text.replace(/\n$/u, '').split('\n')
        const displayed =
          kind === 'same' && lines.length > 2 * UNCHANGED_LINES
            ? [
                ...(index === 0 ? [] : lines.slice(0, UNCHANGED_LINES)),
                undefined,
                ...(index === changes.length - 1 ? [] : lines.slice(-UNCHANGED_LINES)),
              ]
            : lines
        return displayed.map((line) => {
          remaining -= 1
          if (remaining < 0) return null
          if (line === undefined)
            return <span class="ln skipped">… {count(lines.length - UNCHANGED_LINES)} lines unchanged</span>
          const words = visible(line === '' ? '\u00a0' : cut(line, 1_500))
          if (kind === 'added') return <ins class="ln">{words}</ins>
          if (kind === 'removed') return <del class="ln">{words}</del>
          return <span class="ln">{words}</span>
        })
      })}
      {remaining < 0 ? <span class="ln skipped">… {count(-remaining)} more lines</span> : null}
    </div>
  )
}
