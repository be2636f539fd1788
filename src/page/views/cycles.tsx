/** The compactions and other marks of a conversation. */
import type { Child } from 'hono/jsx'
import { conversationLink, link } from '../links.js'
import type { Course, Mark } from '../reading/history.js'
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
  withLinks = true,
}: {
  c: string
  marks: readonly Mark[]
  withLinks?: boolean
}): Child {
  if (marks.length === 0) return <p class="empty">No compactions and no failures.</p>
  return (
    <Table
      label="Compactions, failures, undo, adoption"
      columns={[
        figure('Revision'),
        { name: 'Event', is: 'heading' },
        { name: 'Recorded (UTC)', is: 'time' },
        ...(withLinks ? ['Context'] : []),
      ]}
      rows={marks.map((mark) => [
        count(mark.revision),
        <>
          <i class={`sign ${mark.kind}`} aria-hidden="true">
            {MARKS[mark.kind].sign}
          </i>{' '}
          {withLinks ? <a href={differenceLink(c, mark)}>{visible(mark.text)}</a> : visible(mark.text)}
        </>,
        <Time at={mark.recordedAt} />,
        ...(withLinks
          ? [
              <a href={conversationLink({ c, at: mark.revision, since: String(Math.max(0, mark.revision - 1)) })}>
                View context after
              </a>,
            ]
          : []),
      ])}
    />
  )
}

/** The table of marks. */
export function Cycles({ c, course }: { c: string; course: Course }): Child {
  return (
    <>
      <h2>{many(course.marks.filter(({ kind }) => kind === 'cycle').length, 'compaction')} and other marks</h2>
      <MarkTable c={c} marks={course.marks} />
    </>
  )
}
