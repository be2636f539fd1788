/**
 * The graph of batches, their sources and messages. It is shallow and its depths are known, so the layout follows from
 * the depth and the order of the messages.
 */
import type { Child } from 'hono/jsx'
import { summaryOf } from '../../../domain/conversation/batch.js'
import type { BatchOrigin, ChunkOrigin, OriginalMessage } from '../../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import type { TurnOf } from '../reading/turns.js'
import { ROLES } from './chat.js'
import { MessagePlace, turnsText, type Places } from './places.js'
import { count, linesOf, many, oneLine, plain, visible } from './text.js'

interface Node {
  readonly x: number
  readonly y: number
  readonly title: string
  readonly detail: string
  readonly href: string
  readonly kind: string
  /** For an expandable box: the batch whose messages it contains, and whether it is expanded. */
  readonly opens?: string
  readonly isOpen?: boolean
  /** The full text, if the box shows a part. */
  readonly fullText?: string
}

interface Edge {
  readonly from: Pick<Node, 'x' | 'y'>
  readonly to: Pick<Node, 'x' | 'y'>
}

const ROW = 30
const COLUMN = 352
const BOX = { width: 304, height: 24 }
/** Maximum number of leaves. */
const MAX_LEAVES = 400
/** Maximum characters in a box. */
const MAX_TEXT = 34
/** Maximum characters of a summary in its box. */
const MAX_TITLE = 42

/** The expanded chunk and its messages. */
export interface OpenChunk {
  readonly batchId: string
  readonly messages: readonly OriginalMessage[]
}

const deepest = (batch: BatchOrigin): number => Math.max(0, ...batch.sources.map((source) => deepest(source) + 1))

/** The messages that a batch covers directly, summarized by the ledger or removed by another program's compaction. */
export function coveredBy({
  chunk,
  observed,
  firstRevision,
  lastRevision,
}: BatchOrigin): Pick<ChunkOrigin, 'messageIds' | 'messages' | 'firstRevision' | 'lastRevision'> | undefined {
  if (chunk !== undefined) return chunk
  return observed === undefined ? undefined : { ...observed, firstRevision, lastRevision }
}

/** A summary in its box: the first line, and the whole beginning for the pointer. */
function summaryText(batch: BatchOrigin): Pick<Node, 'title' | 'detail' | 'fullText'> {
  const size = `${many(batch.messageCount, 'message')}, ${many(batch.tokens, 'token')}`
  const text = oneLine(summaryOf(batch).replaceAll(/[#*`]+/gu, ''), 300)
  return text === ''
    ? { title: 'Summary', detail: size }
    : { title: plain(oneLine(text, MAX_TITLE)), detail: '', fullText: plain(`${size}. ${text}`) }
}

/** Lays out boxes and lines, from the newest batch to the messages. */
export function layOut(
  c: string,
  batches: readonly BatchOrigin[],
  {
    open,
    within,
    turnOf = () => undefined,
  }: { readonly open?: OpenChunk | undefined; readonly within?: string | undefined; readonly turnOf?: TurnOf } = {},
): {
  readonly nodes: readonly Node[]
  readonly edges: readonly Edge[]
  readonly columns: number
  readonly omitted: number
} {
  /** Column of the message boxes. The messages of the expanded box are in the next column. */
  const last = Math.max(1, ...batches.map((batch) => deepest(batch) + 1))
  const columns = last + (open === undefined ? 1 : 2)
  const nodes: Node[] = []
  const edges: Edge[] = []
  let row = 0
  let omitted = 0

  /** Adds a box for each message. Returns their y positions. */
  function drawMessages(messages: readonly OriginalMessage[]): number[] {
    return messages.slice(0, MAX_LEAVES).map(({ message, messageId, recorded }) => {
      const y = row * ROW
      row += 1
      const text = oneLine(linesOf(message).join(' '), 300)
      nodes.push({
        x: (last + 1) * COLUMN,
        y,
        kind: 'message',
        title: message.role,
        detail: plain(oneLine(text === '' ? messageId : text, MAX_TEXT)),
        fullText: plain(text),
        href: conversationLink({ c, at: recorded.revision, m: messageId }),
      })
      return y
    })
  }

  /** Adds a batch and its sources. Returns its y position. */
  function draw(batch: BatchOrigin, column: number): number {
    const x = column * COLUMN
    // The box comes before its sources in tab order.
    const batchIndex = nodes.length
    const under: Pick<Node, 'x' | 'y'>[] = []
    for (const source of batch.sources) {
      const y = draw(source, column + 1)
      under.push({ x: (column + 1) * COLUMN, y })
    }
    const covered = coveredBy(batch)
    if (covered !== undefined) {
      const isOpen = open?.batchId === batch.batchId
      const boxIndex = nodes.length
      const ys = isOpen ? drawMessages(open.messages) : []
      if (ys.length === 0) {
        ys.push(row * ROW)
        row += 1
      }
      const y = ((ys[0] ?? 0) + (ys.at(-1) ?? 0)) / 2
      const leftOf = last * COLUMN
      nodes.splice(boxIndex, 0, {
        x: leftOf,
        y,
        kind: 'messages',
        title: many(covered.messageIds.length, 'message'),
        detail: turnsText(turnOf, c, covered.firstRevision, covered.lastRevision) ?? '',
        fullText: `events ${count(covered.firstRevision)} to ${count(covered.lastRevision)}`,
        href: `${link('/graph', { c, batch: within, open: isOpen ? undefined : batch.batchId })}#box-${batch.batchId}`,
        opens: batch.batchId,
        isOpen,
      })
      if (isOpen)
        for (const to of ys) edges.push({ from: { x: leftOf + BOX.width, y }, to: { x: leftOf + COLUMN, y: to } })
      under.push({ x: leftOf, y })
    }
    if (under.length === 0) {
      under.push({ x, y: row * ROW })
      row += 1
    }
    const y = under.reduce((sum, each) => sum + each.y, 0) / under.length
    nodes.splice(batchIndex, 0, {
      x,
      y,
      kind: `batch ${batch.state}`,
      ...summaryText(batch),
      href: link('/explain', { c, batch: batch.batchId }),
    })
    for (const to of under) if (to.x !== x) edges.push({ from: { x: x + BOX.width, y }, to })
    return y
  }

  for (const batch of batches) {
    if (row >= MAX_LEAVES) omitted += 1
    else draw(batch, 0)
  }
  return { nodes, edges, columns, omitted }
}

/** Whether a batch is made from another one, or is it. */
const hasSource = (batch: BatchOrigin, batchId: string | undefined): boolean =>
  batchId !== undefined && (batch.batchId === batchId || batch.sources.some((source) => hasSource(source, batchId)))

interface ListProps {
  readonly c: string
  readonly open: OpenChunk | undefined
  readonly within: string | undefined
  readonly places: Places
}

/** The messages of an expanded batch in the list. */
function OpenMessages({ c, open, places }: ListProps & { open: OpenChunk }): Child {
  return (
    <ul>
      {open.messages.slice(0, MAX_LEAVES).map(({ message, messageId, recorded }) => (
        <li>
          <b>{ROLES[message.role]}</b> <span class="line">{visible(oneLine(linesOf(message).join(' '), 200))}</span>{' '}
          <MessagePlace c={c} revision={recorded.revision} messageId={messageId} places={places} />
        </li>
      ))}
    </ul>
  )
}

/** A batch with its sources and messages as a list, for screens that are narrower than the drawing. */
function SourceItem({ batch, ...props }: ListProps & { batch: BatchOrigin }): Child {
  const { c, open, within, places } = props
  const covered = coveredBy(batch)
  const isOpen = open?.batchId === batch.batchId
  const address = link('/graph', { c, batch: within, open: isOpen ? undefined : batch.batchId })
  return (
    <li>
      <a
        class={`batch line ${batch.state}`}
        href={places.linked ? link('/explain', { c, batch: batch.batchId }) : undefined}
      >
        {visible(oneLine(summaryOf(batch).replaceAll(/[#*`]+/gu, ''), 200)) || 'Summary'}
      </a>
      <span class="facts">
        {[
          turnsText(places.turnOf, c, batch.firstRevision, batch.lastRevision),
          many(batch.messageCount, 'message'),
          many(batch.tokens, 'token'),
        ]
          .filter((each) => each !== undefined)
          .join(', ')}
        {covered === undefined || !places.linked ? null : (
          <>
            {' · '}
            <a class="nowrap" href={address}>
              {isOpen ? 'hide messages' : 'show messages'}
            </a>
          </>
        )}
      </span>
      {isOpen ? <OpenMessages {...props} open={open} /> : null}
      {batch.sources.length === 0 ? null : (
        <details open={hasSource(batch, open?.batchId)}>
          <summary>made from {many(batch.sources.length, 'summary', 'summaries')}</summary>
          <ul>
            {batch.sources.map((source) => (
              <SourceItem {...props} batch={source} />
            ))}
          </ul>
        </details>
      )}
    </li>
  )
}

export function Graph({
  c,
  batches,
  places,
  open,
  within,
}: {
  c: string
  batches: readonly BatchOrigin[]
  /** The expanded chunk. */
  open?: OpenChunk | undefined
  /** The batch of the graph; default: all batches. */
  within?: string | undefined
  places: Places
}): Child {
  const { linked, turnOf } = places
  if (batches.length === 0) return <p class="empty">Nothing has been compacted.</p>
  const { nodes, edges, columns, omitted } = layOut(c, batches, { open, within, turnOf })
  const width = columns * COLUMN
  const height = Math.max(...nodes.map(({ y }) => y)) + ROW + 8
  const heads = [
    'summaries',
    ...Array.from({ length: Math.max(0, columns - (open === undefined ? 2 : 3)) }, (_none, at) =>
      at === 0 ? 'made from' : '',
    ),
    'messages',
    ...(open === undefined ? [] : ['single messages']),
  ]
  return (
    <>
      <p class="muted of-drawing">
        Blue: in the current context. Dashed: merged into a newer summary.
        {linked ? ' Click a summary for its sources, or a box of messages to expand it.' : null}
      </p>
      <p class="muted of-list">Oldest first. Blue: in the current context.</p>
      <ul class="source-list">
        {batches.slice(0, MAX_LEAVES).map((batch) => (
          <SourceItem c={c} batch={batch} open={open} within={within} places={places} />
        ))}
      </ul>
      <div class="wide graph" role="region" aria-label="Summaries, their sources and messages" tabindex={0}>
        <svg
          width={width}
          height={height + 24}
          viewBox={`0 -24 ${String(width)} ${String(height + 24)}`}
          role="group"
          aria-label={`${many(nodes.length, 'box', 'boxes')}: summaries on the left, their sources in the middle, messages on the right`}
        >
          {heads.map((text, at) => (
            <text class="tick" x={at * COLUMN} y={-10}>
              {text}
            </text>
          ))}
          {edges.map(({ from, to }) => {
            const middle = (from.x + to.x) / 2
            const [a, b] = [from.y + BOX.height / 2, to.y + BOX.height / 2]
            return (
              <path
                class="edge"
                d={`M${String(from.x)} ${a.toFixed(1)}C${String(middle)} ${a.toFixed(1)} ${String(middle)} ${b.toFixed(1)} ${String(to.x)} ${b.toFixed(1)}`}
              />
            )
          })}
          {nodes.map(({ x, y, title, detail, fullText, href, kind, opens, isOpen }) => (
            <a
              href={linked ? href : undefined}
              id={opens === undefined ? undefined : `box-${opens}`}
              aria-expanded={opens === undefined || !linked ? undefined : isOpen === true ? 'true' : 'false'}
            >
              <rect class={kind} x={x} y={y} width={BOX.width} height={BOX.height} rx={3} />
              {/* An image in the image cuts a text that is wider than the box. */}
              <svg x={x} y={y} width={BOX.width - 6} height={BOX.height}>
                <text x={8} y={16}>
                  {opens === undefined || !linked ? '' : isOpen === true ? '▾ ' : '▸ '}
                  {title}
                  <tspan class="detail" dx={6}>
                    {detail}
                  </tspan>
                </text>
              </svg>
              <title>{`${title}: ${fullText ?? detail}`}</title>
            </a>
          ))}
        </svg>
      </div>
      {open === undefined || open.messages.length <= MAX_LEAVES ? null : (
        <p class="muted">
          {many(open.messages.length - MAX_LEAVES, 'more message')}:{' '}
          <a href={link('/explain', { c, batch: open.batchId, open: 1 })}>show all in full</a>
        </p>
      )}
      {omitted === 0 ? null : (
        <p class="muted">
          {many(omitted, 'more summary', 'more summaries')}: open the page of a summary to see its graph.
        </p>
      )}
    </>
  )
}
