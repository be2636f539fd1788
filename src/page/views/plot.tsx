/** A static plot of the context size, for report files and browsers without scripts. */
import type { Child } from 'hono/jsx'
import type { Course, MarkKind } from '../reading/history.js'
import { count } from './text.js'

/** Names and signs of the marks. The signs differ, so marks can be read without colours. */
export const MARKS: Readonly<Record<MarkKind, { readonly name: string; readonly sign: string }>> = {
  cycle: { name: 'cycle', sign: '▼' },
  failure: { name: 'failure', sign: '✕' },
  'could-not-help': { name: 'could not reduce enough', sign: '!' },
  undo: { name: 'undo', sign: '↶' },
  adoption: { name: 'edition adopted', sign: '◆' },
  revert: { name: 'edition reverted', sign: '◇' },
}

const WIDTH = 1_000
const HEIGHT = 220
/** Width of a digit of the labels, and the minimum width of all labels. */
const DIGIT = 7
const MIN_LEFT = 56
const TOP = 30
const BOTTOM = 22

interface Point {
  readonly x: number
  readonly y: number
}

/**
 * Reduces the points of a line to at most `most`. Each range keeps its first, lowest, highest and last point, so that
 * peaks stay visible.
 */
export function thinned(points: readonly Point[], most: number): readonly Point[] {
  if (points.length <= most) return points
  const stretch = Math.ceil(points.length / (most / 4))
  const result: Point[] = []
  for (let from = 0; from < points.length; from += stretch) {
    const part = points.slice(from, from + stretch)
    const [first] = part
    const last = part.at(-1)
    if (first === undefined || last === undefined) continue
    const low = part.reduce((lowest, each) => (each.y < lowest.y ? each : lowest), first)
    const high = part.reduce((highest, each) => (each.y > highest.y ? each : highest), first)
    result.push(...[...new Set([first, low, high, last])].toSorted((a, b) => a.x - b.x))
  }
  return result
}

const path = (points: readonly Point[]): string =>
  points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('')

/** Indexes at which a rarely changing line changes. */
const steps = (values: readonly (number | null)[]): readonly number[] =>
  values.flatMap((value, at) => (at === 0 || at === values.length - 1 || value !== values[at - 1] ? [at] : []))

/** The context size with both limits and the marks. */
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
  const left = Math.max(MIN_LEFT, count(Math.round(most)).length * DIGIT + 12)
  const xOf = (revision: number): number => left + (revision / last) * (WIDTH - left - 8)
  const yOf = (value: number): number => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM)
  /** A line with gaps for missing values. */
  const line = (values: readonly (number | null)[]): string => {
    const parts: Point[][] = [[]]
    for (const at of steps(values)) {
      const value = values[at] ?? null
      const before = values[at - 1] ?? null
      const x = xOf(revisions[at] ?? 0)
      if (before !== null && before !== value) parts.at(-1)?.push({ x, y: yOf(before) })
      if (value === null) parts.push([])
      else parts.at(-1)?.push({ x, y: yOf(value) })
    }
    return parts.map(path).join('')
  }
  const points = thinned(
    tokens.map((value, at) => ({ x: xOf(revisions[at] ?? 0), y: yOf(value) })),
    2_400,
  )
  const drawn = marks.length > 400 ? marks.filter(({ kind }) => kind !== 'cycle').slice(0, 400) : marks
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
      role="img"
      aria-label={`Tokens of the context over ${count(revisions.length)} events, with ${count(marks.length)} marks`}
    >
      {[0, 0.5, 1].map((share) => (
        <>
          <line class="grid" x1={left} x2={WIDTH - 8} y1={yOf(most * share)} y2={yOf(most * share)} />
          <text class="tick" x={left - 6} y={yOf(most * share) + 3} text-anchor="end">
            {count(Math.round(most * share))}
          </text>
        </>
      ))}
      <text class="tick" x={left} y={HEIGHT - 6}>
        revision 0
      </text>
      <text class="tick" x={WIDTH - 8} y={HEIGHT - 6} text-anchor="end">
        {count(last)}
      </text>
      {soft.some((value) => value !== null) && <path class="soft" d={line(soft)} />}
      {hard.some((value) => value !== null) && <path class="hard" d={line(hard)} />}
      <path class="tokens" d={path(points)} />
      {drawn.map(({ kind, revision, text }) => (
        <text class={`mark ${kind}`} x={xOf(revision)} y={kind === 'cycle' ? TOP - 6 : TOP - 18} text-anchor="middle">
          <title>{`revision ${String(revision)}: ${text}`}</title>
          {MARKS[kind].sign}
        </text>
      ))}
    </svg>
  )
}
