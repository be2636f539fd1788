/**
 * The graph of what is compacted: batches, what they were made of, and the messages. It is a shallow one with known
 * depths, so a place follows from the depth and from the order of the messages.
 */
import type { Child } from 'hono/jsx'
import type { BatchOrigin } from '../../library/ledger.js'
import { conversationLink, link } from '../links.js'
import { count, many } from './text.js'

interface Node {
  readonly x: number
  readonly y: number
  readonly title: string
  readonly says: string
  readonly href: string
  readonly kind: string
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

const deepest = (batch: BatchOrigin): number => Math.max(0, ...batch.sources.map((source) => deepest(source) + 1))

/** Boxes and lines of batches, from the newest fact back to the messages. */
export function layOut(
  c: string,
  batches: readonly BatchOrigin[],
): {
  readonly nodes: readonly Node[]
  readonly edges: readonly Edge[]
  readonly columns: number
  readonly left: number
} {
  const columns = Math.max(1, ...batches.map((batch) => deepest(batch) + 1)) + 1
  const nodes: Node[] = []
  const edges: Edge[] = []
  let row = 0
  let left = 0

  /** Draws a batch and what is under it; gives the height that it stands at. */
  function draw(batch: BatchOrigin, column: number): number {
    const x = column * COLUMN
    const under: Pick<Node, 'x' | 'y'>[] = []
    for (const source of batch.sources) {
      const y = draw(source, column + 1)
      under.push({ x: (column + 1) * COLUMN, y })
    }
    if (batch.chunk !== undefined) {
      const { messageIds, firstRevision, lastRevision } = batch.chunk
      const y = row * ROW
      row += 1
      nodes.push({
        x: (columns - 1) * COLUMN,
        y,
        kind: 'messages',
        title: many(messageIds.length, 'message'),
        says: `revisions ${count(firstRevision)}–${count(lastRevision)}`,
        href: conversationLink({ c, at: lastRevision, m: messageIds[0] }),
      })
      under.push({ x: (columns - 1) * COLUMN, y })
    }
    if (under.length === 0) {
      under.push({ x, y: row * ROW })
      row += 1
    }
    const y = under.reduce((sum, each) => sum + each.y, 0) / under.length
    nodes.push({
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
}: {
  c: string
  batches: readonly BatchOrigin[]
  /** False where nothing is served that a box could lead to. */
  linked?: boolean
}): Child {
  if (batches.length === 0) return <p class="empty">Nothing is compacted.</p>
  const { nodes, edges, columns, left } = layOut(c, batches)
  const width = columns * COLUMN
  const height = Math.max(...nodes.map(({ y }) => y)) + ROW + 8
  const heads = [
    'active batch',
    ...Array.from({ length: Math.max(0, columns - 2) }, (_none, at) => (at === 0 ? 'made of' : '')),
    'messages',
  ]
  return (
    <>
      <p class="muted">
        Filled: in the view now. Dashed: a deeper batch took its place. Each box leads to what it is made of.
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
          {nodes.map(({ x, y, title, says, href, kind }) => (
            <a href={linked ? href : undefined}>
              <rect class={kind} x={x} y={y} width={BOX.width} height={BOX.height} rx={3} />
              <text x={x + 8} y={y + 16}>
                {title}
                <tspan class="says" dx={6}>
                  {says}
                </tspan>
              </text>
              <title>{`${title}: ${says}`}</title>
            </a>
          ))}
        </svg>
      </div>
      {left === 0 ? null : (
        <p class="muted">
          {many(left, 'further batch', 'further batches')}: each has a graph of its own where it is explained.
        </p>
      )}
    </>
  )
}
