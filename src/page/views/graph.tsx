/**
 * The graph of what is compacted: batches, what they were made of, and the messages. It is a shallow one with known
 * depths, so a place follows from the depth and from the order of the messages.
 */
import type { Child } from 'hono/jsx'
import type { BatchOrigin, ChunkOrigin, OriginalMessage } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import { count, linesOf, many, oneLine, plain } from './text.js'

interface Node {
  readonly x: number
  readonly y: number
  readonly title: string
  readonly says: string
  readonly href: string
  readonly kind: string
  /** Of a box that opens: the batch whose messages it has, and whether they are shown. */
  readonly opens?: string
  readonly isOpen?: boolean
  /** All that is said of it, where there is no room for that. */
  readonly whole?: string
}

interface Edge {
  readonly from: Pick<Node, 'x' | 'y'>
  readonly to: Pick<Node, 'x' | 'y'>
}

const ROW = 30
const COLUMN = 280
const BOX = { width: 232, height: 24 }
/** Leaves that one drawing has. */
const MOST_LEAVES = 400
/** Characters that there is room for in a box. */
const MOST_SAID = 28

/** The chunk that is open, and its messages. */
export interface OpenChunk {
  readonly batchId: string
  readonly messages: readonly OriginalMessage[]
}

const deepest = (batch: BatchOrigin): number => Math.max(0, ...batch.sources.map((source) => deepest(source) + 1))

/** The messages that a batch covers by itself: those that we summarized, or that another program's compaction took out. */
export function coveredBy({
  chunk,
  observed,
  firstRevision,
  lastRevision,
}: BatchOrigin): Pick<ChunkOrigin, 'messageIds' | 'messages' | 'firstRevision' | 'lastRevision'> | undefined {
  if (chunk !== undefined) return chunk
  return observed === undefined ? undefined : { ...observed, firstRevision, lastRevision }
}

/** Boxes and lines of batches, from the newest fact back to the messages. */
export function layOut(
  c: string,
  batches: readonly BatchOrigin[],
  { open, within }: { readonly open?: OpenChunk | undefined; readonly within?: string | undefined } = {},
): {
  readonly nodes: readonly Node[]
  readonly edges: readonly Edge[]
  readonly columns: number
  readonly left: number
} {
  /** Where the boxes of messages stand; the messages of the open one stand behind it. */
  const last = Math.max(1, ...batches.map((batch) => deepest(batch) + 1))
  const columns = last + (open === undefined ? 1 : 2)
  const nodes: Node[] = []
  const edges: Edge[] = []
  let row = 0
  let left = 0

  /** Draws single messages, each leading to its place; gives the heights that they stand at. */
  function drawMessages(messages: readonly OriginalMessage[]): number[] {
    return messages.slice(0, MOST_LEAVES).map(({ message, messageId, recorded }) => {
      const y = row * ROW
      row += 1
      const said = oneLine(linesOf(message).join(' '), 300)
      nodes.push({
        x: (last + 1) * COLUMN,
        y,
        kind: 'message',
        title: message.role,
        says: plain(oneLine(said === '' ? messageId : said, MOST_SAID)),
        whole: plain(said),
        href: conversationLink({ c, at: recorded.revision, m: messageId }),
      })
      return y
    })
  }

  /** Draws a batch and what is under it; gives the height that it stands at. */
  function draw(batch: BatchOrigin, column: number): number {
    const x = column * COLUMN
    // Keys go from a box to what it is made of.
    const own = nodes.length
    const under: Pick<Node, 'x' | 'y'>[] = []
    for (const source of batch.sources) {
      const y = draw(source, column + 1)
      under.push({ x: (column + 1) * COLUMN, y })
    }
    const covered = coveredBy(batch)
    if (covered !== undefined) {
      const isOpen = open?.batchId === batch.batchId
      const place = nodes.length
      const ys = isOpen ? drawMessages(open.messages) : []
      if (ys.length === 0) {
        ys.push(row * ROW)
        row += 1
      }
      const y = ((ys[0] ?? 0) + (ys.at(-1) ?? 0)) / 2
      const leftOf = last * COLUMN
      nodes.splice(place, 0, {
        x: leftOf,
        y,
        kind: 'messages',
        title: many(covered.messageIds.length, 'message'),
        says: `revisions ${count(covered.firstRevision)}–${count(covered.lastRevision)}`,
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
    nodes.splice(own, 0, {
      x,
      y,
      kind: `batch ${batch.state}`,
      title: batch.batchId.slice(0, 12),
      says: `depth ${String(batch.depth)} · ${count(batch.tokens)} tokens`,
      href: link('/explain', { c, batch: batch.batchId }),
    })
    for (const to of under) if (to.x !== x) edges.push({ from: { x: x + BOX.width, y }, to })
    return y
  }

  for (const batch of batches) {
    if (row >= MOST_LEAVES) left += 1
    else draw(batch, 0)
  }
  return { nodes, edges, columns, left }
}

/** The drawing. */
export function Graph({
  c,
  batches,
  linked = true,
  open,
  within,
}: {
  c: string
  batches: readonly BatchOrigin[]
  /** The chunk whose messages are shown one by one. */
  open?: OpenChunk | undefined
  /** The batch that the graph is of; all of them otherwise. */
  within?: string | undefined
  /** False where nothing is served that a box could lead to. */
  linked?: boolean
}): Child {
  if (batches.length === 0) return <p class="empty">Nothing is compacted.</p>
  const { nodes, edges, columns, left } = layOut(c, batches, { open, within })
  const width = columns * COLUMN
  const height = Math.max(...nodes.map(({ y }) => y)) + ROW + 8
  const heads = [
    'active batch',
    ...Array.from({ length: Math.max(0, columns - (open === undefined ? 2 : 3)) }, (_none, at) =>
      at === 0 ? 'made of' : '',
    ),
    'messages',
    ...(open === undefined ? [] : ['each of them']),
  ]
  return (
    <>
      <p class="muted">
        Filled: in the view now. Dashed: a deeper batch took its place.
        {linked ? (
          <>
            {' '}
            A batch leads to where it comes from; a box of messages opens into each of them, and each of these leads to
            its place.
          </>
        ) : null}
      </p>
      <div class="wide graph" role="region" aria-label="Graph of batches, sources and messages" tabindex={0}>
        <svg
          width={width}
          height={height + 24}
          viewBox={`0 -24 ${String(width)} ${String(height + 24)}`}
          role="group"
          aria-label={`${many(nodes.length, 'box', 'boxes')}: batches on the left, what they were made of, messages on the right`}
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
          {nodes.map(({ x, y, title, says, whole, href, kind, opens, isOpen }) => (
            <a
              href={linked ? href : undefined}
              id={opens === undefined ? undefined : `box-${opens}`}
              aria-expanded={opens === undefined || !linked ? undefined : isOpen === true ? 'true' : 'false'}
            >
              <rect class={kind} x={x} y={y} width={BOX.width} height={BOX.height} rx={3} />
              <text x={x + 8} y={y + 16}>
                {opens === undefined || !linked ? '' : isOpen === true ? '▾ ' : '▸ '}
                {title}
                <tspan class="says" dx={6}>
                  {says}
                </tspan>
              </text>
              <title>{`${title}: ${whole ?? says}`}</title>
            </a>
          ))}
        </svg>
      </div>
      {open === undefined || open.messages.length <= MOST_LEAVES ? null : (
        <p class="muted">
          {many(open.messages.length - MOST_LEAVES, 'further message')}:{' '}
          <a href={link('/explain', { c, batch: open.batchId, open: 1 })}>all of them, whole</a>
        </p>
      )}
      {left === 0 ? null : (
        <p class="muted">
          {many(left, 'further batch', 'further batches')}: each has a graph of its own where it is explained.
        </p>
      )}
    </>
  )
}
