/** The compactions and other marks of a conversation. */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { Course, Mark } from '../reading/history.js'
import type { Losses } from '../reading/losses.js'
import { MARKS } from './plot.js'
import { figure, Table } from './table.js'
import { count, many, visible, Time } from './text.js'

/** The difference that a mark made. */
export const differenceLink = (c: string, { kind, cycle, revision }: Mark): string =>
  kind === 'cycle' && cycle !== undefined
    ? link('/difference', { c, cycle, at: revision })
    : link('/difference', { c, from: Math.max(0, revision - 1), to: revision })

/** All marks, oldest first. */
export function MarkTable({
  c,
  marks,
  losses,
  withLinks = true,
}: {
  c: string
  marks: readonly Mark[]
  /** Undefined if they are not known. */
  losses?: Losses | undefined
  withLinks?: boolean
}): Child {
  if (marks.length === 0) return <p class="empty">No compactions and no failures.</p>
  return (
    <Table
      label="Compactions, failures, undo, adoption"
      columns={[
        { name: 'What happened', is: 'heading' },
        ...(losses === undefined ? [] : [figure('Losses')]),
        ...(withLinks ? ['Model’s context'] : []),
        { name: 'Time (UTC)', is: 'time' },
      ]}
      rows={marks.map((mark) => [
        <>
          <i class={`sign ${mark.kind}`} aria-hidden="true">
            {MARKS[mark.kind].sign}
          </i>{' '}
          {withLinks ? <a href={differenceLink(c, mark)}>{visible(mark.text)}</a> : visible(mark.text)}
        </>,
        ...(losses === undefined ? [] : [<Lost mark={mark} losses={losses} />]),
        ...(withLinks
          ? [
              <a href={conversationLink({ c, at: mark.revision, since: String(Math.max(0, mark.revision - 1)) })}>
                context after
              </a>,
            ]
          : []),
        <Time at={mark.at} />,
      ])}
    />
  )
}

/** The losses of a compaction that matter. */
function Lost({ mark, losses }: { mark: Mark; losses: Losses }): Child {
  if (mark.kind !== 'cycle' || !losses.has(mark.revision)) return null
  const lost = losses.get(mark.revision)
  if (lost === undefined) return 'unknown'
  return lost === 0 ? '0' : <b class="bad">{count(lost)}</b>
}

/** The compactions and other marks. */
export function Cycles({ c, course, losses }: { c: string; course: Course; losses: Losses | undefined }): Child {
  const cycles = course.marks.filter(({ kind }) => kind === 'cycle').length
  const otherMarks = course.marks.length - cycles
  return (
    <>
      <h2>
        {many(cycles, 'compaction')}
        {otherMarks === 0 ? null : ` and ${many(otherMarks, 'other mark')}`}
      </h2>
      {cycles === 0 ? null : <p class="muted">Open a compaction to see what it removed and what replaced it.</p>}
      <div class="marks">
        <MarkTable c={c} marks={course.marks} losses={losses} />
      </div>
    </>
  )
}
