/** The course of a context as a drawing of its own: for the report that is sent to somebody, and where no script runs. */
import type { Child } from 'hono/jsx'
import type { Course, MarkKind } from '../reading/history.js'
import { count } from './text.js'

/** The name of a mark, and the sign that it is drawn with: colour is not what tells them apart. */
export const MARKS: Readonly<Record<MarkKind, { readonly name: string; readonly sign: string }>> = {
  cycle: { name: 'cycle', sign: '▼' },
  failure: { name: 'failure', sign: '✕' },
  'could-not-help': { name: 'could not help', sign: '!' },
  undo: { name: 'undo', sign: '↶' },
  adoption: { name: 'edition adopted', sign: '◆' },
  revert: { name: 'edition put back', sign: '◇' },
}

const WIDTH = 1_000
const HEIGHT = 220
const LEFT = 56
const TOP = 30
const BOTTOM = 22

interface Point {
  readonly x: number
  readonly y: number
}

/**
 * So many points of a line at most: of each stretch the first, the lowest, the highest and the last, so that no tooth
 * is lost.
 */
export function thinned(points: readonly Point[], most: number): readonly Point[] {
  if (points.length <= most) return points
  const stretch = Math.ceil(points.length / (most / 4))
  const kept: Point[] = []
  for (let from = 0; from < points.length; from += stretch) {
    const part = points.slice(from, from + stretch)
    const [first] = part
    const last = part.at(-1)
    if (first === undefined || last === undefined) continue
    const low = part.reduce((lowest, each) => (each.y < lowest.y ? each : lowest), first)
    const high = part.reduce((highest, each) => (each.y > highest.y ? each : highest), first)
    kept.push(...[...new Set([first, low, high, last])].toSorted((a, b) => a.x - b.x))
  }
  return kept
}

const path = (points: readonly Point[]): string =>
  points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')

/** Points of a line that changes seldom: where it does. */
const steps = (values: readonly number[]): readonly number[] =>
  values.flatMap((value, at) => (at === 0 || at === values.length - 1 || value !== values[at - 1] ? [at] : []))

/** The sawtooth against both limits, with what happened on it. */
export function Plot({ course }: { course: Course }): Child {
  const { revisions, tokens, soft, hard, marks } = course
  const last = Math.max(1, revisions.at(-1) ?? 1)
  const most = Math.max(
    1,
    ...thinned(
      tokens.map((y, x) => ({ x, y })),
      4_000,
    ).map(({ y }) => y),
    hard.at(-1) ?? 0,
  )
  const xOf = (revision: number): number => LEFT + (revision / last) * (WIDTH - LEFT - 8)
  const yOf = (value: number): number => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM)
  const line = (values: readonly number[], at: readonly number[]): string =>
    path(
      at.flatMap((each) => {
        const before = values[each - 1]
        const x = xOf(revisions[each] ?? 0)
        return [
          ...(before === undefined || before === values[each] ? [] : [{ x, y: yOf(before) }]),
          { x, y: yOf(values[each] ?? 0) },
        ]
      }),
    )
  const course1 = thinned(
    tokens.map((value, at) => ({ x: xOf(revisions[at] ?? 0), y: yOf(value) })),
    2_400,
  )
  const drawn = marks.length > 400 ? marks.filter(({ kind }) => kind !== 'cycle').slice(0, 400) : marks
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
      role="img"
      aria-label={`Tokens of the context over ${count(revisions.length)} facts, with ${count(marks.length)} marks`}
    >
      {[0, 0.5, 1].map((share) => (
        <>
          <line class="grid" x1={LEFT} x2={WIDTH - 8} y1={yOf(most * share)} y2={yOf(most * share)} />
          <text class="tick" x={LEFT - 6} y={yOf(most * share) + 3} text-anchor="end">
            {count(Math.round(most * share))}
          </text>
        </>
      ))}
      <text class="tick" x={LEFT} y={HEIGHT - 6}>
        revision 0
      </text>
      <text class="tick" x={WIDTH - 8} y={HEIGHT - 6} text-anchor="end">
        {count(last)}
      </text>
      <path class="soft" d={line(soft, steps(soft))} />
      <path class="hard" d={line(hard, steps(hard))} />
      <path class="tokens" d={path(course1)} />
      {drawn.map(({ kind, revision, text }) => (
        <text class={`mark ${kind}`} x={xOf(revision)} y={kind === 'cycle' ? TOP - 6 : TOP - 18} text-anchor="middle">
          <title>{`revision ${String(revision)}: ${text}`}</title>
          {MARKS[kind].sign}
        </text>
      ))}
    </svg>
  )
}
