/**
 * The chart of a conversation: tokens of the context over its turns, with limits and marks. Positions are percentages,
 * so that it fits any width; lines are drawn in a nested image that is stretched.
 */
import type { Child } from 'hono/jsx'
import type { Course, Mark, MarkKind } from '../reading/history.js'
import type { Losses } from '../reading/losses.js'
import { conversationLink } from '../links.js'
import { count, many } from './text.js'

/** Names and signs of the marks. The signs differ, so marks can be read without colours. */
export const MARKS: Readonly<Record<MarkKind, { readonly name: string; readonly sign: string }>> = {
  cycle: { name: 'compaction', sign: '▼' },
  failure: { name: 'failure', sign: '✕' },
  'could-not-help': { name: 'could not reduce enough', sign: '!' },
  undo: { name: 'undo', sign: '↶' },
  adoption: { name: 'edition adopted', sign: '◆' },
  revert: { name: 'edition reverted', sign: '◇' },
}

/** The stretched image: its width, and the height of the lines. */
const WIDTH = 1_000
const LINES = 104
const TOP = 36
const HEIGHT = TOP + LINES + 24
/** Space at both sides, in percent. */
const SIDE = 1
const MAX_POINTS = 2_400
/** The small form is 140 pixels wide. */
const SPARK_POINTS = 60
const MAX_TIPS = 600
const MAX_MARKS = 400
const MAX_TICKS = 6
/** The share of the width that the name of the axis needs on a narrow screen. */
const NAMED_SHARE = 0.14
/** Shares of the width between the centers of two texts: of two turns, and of two losses on a wide and a narrow screen. */
const APART = { turns: 0.06, losses: 0.042, lossesNarrow: 0.15 } as const

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

/** Scales of a course. */
interface Scales {
  readonly last: number
  /** The largest value. */
  readonly most: number
  /** Position in the stretched image. */
  readonly x: (revision: number) => number
  readonly y: (value: number) => number
}

function scalesOf({ revisions, tokens, hard }: Course): Scales {
  const last = Math.max(1, revisions.at(-1) ?? 1)
  const most = Math.max(
    1,
    ...thinned(
      tokens.map((y, x) => ({ x, y })),
      4_000,
    ).map(({ y }) => y),
    hard.at(-1) ?? 0,
  )
  return {
    last,
    most,
    x: (revision) => ((SIDE + (revision / last) * (100 - 2 * SIDE)) / 100) * WIDTH,
    y: (value) => (1 - value / most) * LINES,
  }
}

/** The horizontal position of a revision in the whole chart. */
const percentOf = ({ x }: Scales, revision: number): string => `${((x(revision) / WIDTH) * 100).toFixed(2)}%`

/** A limit as a line with steps, and gaps where it is unknown. */
function limitPath(revisions: readonly number[], values: readonly (number | null)[], { x, y }: Scales): string {
  const parts: Point[][] = [[]]
  for (const at of steps(values)) {
    const value = values[at] ?? null
    const before = values[at - 1] ?? null
    const left = x(revisions[at] ?? 0)
    if (before !== null && before !== value) parts.at(-1)?.push({ x: left, y: y(before) })
    if (value === null) parts.push([])
    else parts.at(-1)?.push({ x: left, y: y(value) })
  }
  return parts.map(path).join('')
}

/** Whether a limit is known at the end; another program's limits are not. */
const isKnown = (limit: readonly (number | null)[]): boolean => (limit.at(-1) ?? null) !== null

/** The lines: the size of the context with its area, and the limits that are known. */
function CourseLines({ course, scales, most }: { course: Course; scales: Scales; most: number }): Child {
  const { revisions, tokens, soft, hard } = course
  const points = thinned(
    tokens.map((value, at) => ({ x: scales.x(revisions[at] ?? 0), y: scales.y(value) })),
    most,
  )
  const line = path(points)
  const [first, last] = [points[0], points.at(-1)]
  return (
    <>
      {first === undefined || last === undefined ? null : (
        <path
          class="area"
          d={`${line}L${last.x.toFixed(1)} ${String(LINES)}L${first.x.toFixed(1)} ${String(LINES)}Z`}
        />
      )}
      {isKnown(soft) && <path class="soft" d={limitPath(revisions, soft, scales)} />}
      {isKnown(hard) && <path class="hard" d={limitPath(revisions, hard, scales)} />}
      <path class="tokens" d={line} />
    </>
  )
}

/** Two to five round values from 0: multiples of 1, 2 or 5 times a power of ten. */
function tokenTicks(most: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(most / 2))
  const step = Math.max(1, power * (most / power >= 10 ? 5 : most / power >= 4 ? 2 : 1))
  return Array.from({ length: Math.floor(most / step) + 1 }, (_none, at) => at * step)
}

/** The first revisions of some turns, evenly distributed. */
function turnTicks({ revisions, turns }: Course): readonly { readonly turn: number; readonly revision: number }[] {
  const every = Math.max(1, Math.ceil((turns.at(-1) ?? 0) / MAX_TICKS))
  return turns.flatMap((turn, at) =>
    turn > 0 && turn % every === 0 && turn !== turns[at - 1] ? [{ turn, revision: revisions[at] ?? 0 }] : [],
  )
}

function Grid({ scales }: { scales: Scales }): Child {
  return (
    <>
      {tokenTicks(scales.most).map((tokens) => (
        <line class="grid" x1="0" x2="100%" y1={TOP + scales.y(tokens)} y2={TOP + scales.y(tokens)} />
      ))}
    </>
  )
}

/** The numbers at both axes, over the lines. The name of the axis of turns is at its beginning. */
function Numbers({ course, scales }: { course: Course; scales: Scales }): Child {
  let from = WIDTH * NAMED_SHARE
  const ticks = turnTicks(course).filter(({ revision }) => {
    const x = scales.x(revision)
    if (x <= from) return false
    from = x + WIDTH * APART.turns
    return true
  })
  return (
    <>
      {tokenTicks(scales.most)
        .filter((tokens) => tokens > 0)
        .map((tokens) => (
          <text class="tick" x="0" y={TOP + scales.y(tokens) + 13}>
            {count(tokens)}
          </text>
        ))}
      {ticks.map(({ turn, revision }) => (
        <text class="tick" x={percentOf(scales, revision)} y={HEIGHT - 6} text-anchor="middle">
          {count(turn)}
        </text>
      ))}
      {ticks.length === 0 ? null : (
        <text class="tick" x="0" y={HEIGHT - 6}>
          turn
        </text>
      )}
    </>
  )
}

/** At the edges of the chart, a text is inside of its place. */
function anchorOf({ x }: Scales, revision: number): 'start' | 'middle' | 'end' {
  const share = x(revision) / WIDTH
  return share > 0.9 ? 'end' : share < 0.1 ? 'start' : 'middle'
}

/** Screens that have room for a text: all, or only wide ones. */
type LossRoom = 'all' | 'wide'

/** The marks with a number of losses: the greatest numbers first, if their texts do not overlap. */
function lossLabels(
  marks: readonly Mark[],
  lostIn: (mark: Mark) => number,
  scales: Scales,
): ReadonlyMap<Mark, LossRoom> {
  const centerOf = (mark: Mark, apart: number): number => {
    const anchor = anchorOf(scales, mark.revision)
    return scales.x(mark.revision) / WIDTH + (anchor === 'end' ? -apart / 2 : anchor === 'start' ? apart / 2 : 0)
  }
  // The signs of other marks are in the same row.
  const signs = marks.filter(({ kind }) => kind !== 'cycle')
  const fitting = (from: readonly Mark[], apart: number): readonly Mark[] => {
    const labelled: Mark[] = []
    for (const mark of from) {
      const center = centerOf(mark, apart)
      if (signs.some((sign) => Math.abs(scales.x(sign.revision) / WIDTH - center) < apart / 2)) continue
      if (labelled.every((other) => Math.abs(centerOf(other, apart) - center) >= apart)) labelled.push(mark)
    }
    return labelled
  }
  const worst = marks.filter((mark) => lostIn(mark) > 0).toSorted((a, b) => lostIn(b) - lostIn(a))
  const wide = fitting(worst, APART.losses)
  const narrow = new Set(fitting(wide, APART.lossesNarrow))
  return new Map(wide.map((mark) => [mark, narrow.has(mark) ? 'all' : 'wide']))
}

function MarkSign({
  c,
  mark,
  scales,
  lost,
  label,
}: {
  c: string | undefined
  mark: Mark
  scales: Scales
  lost: number
  /** The screens that have room for the number of losses; undefined if none has. */
  label: LossRoom | undefined
}): Child {
  const { kind, revision, text } = mark
  const x = percentOf(scales, revision)
  const sign = (
    <>
      <title>{`${text}${lost === 0 ? '' : `; ${many(lost, 'item')} lost`}`}</title>
      <text class={`mark ${kind}`} x={x} y={kind === 'cycle' ? TOP - 6 : TOP - 18} text-anchor="middle">
        {MARKS[kind].sign}
      </text>
      {label === undefined ? null : (
        <text
          class={label === 'wide' ? 'loss of-wide' : 'loss'}
          x={x}
          y={TOP - 20}
          text-anchor={anchorOf(scales, revision)}
        >
          {count(lost)} lost
        </text>
      )}
    </>
  )
  return c === undefined ? (
    <g>{sign}</g>
  ) : (
    <a href={conversationLink({ c, at: revision, since: String(Math.max(0, revision - 1)) })} data-mark={revision}>
      {sign}
    </a>
  )
}

/** Text for the pointer: revision, turn and tokens of some points. */
const tipsOf = ({ revisions, tokens, turns }: Course): string =>
  thinned(
    tokens.map((y, at) => ({ x: at, y })),
    MAX_TIPS,
  )
    .map(({ x: at, y }) => `${String(revisions[at] ?? 0)},${String(turns[at] ?? 0)},${String(y)}`)
    .join(' ')

/** The names of the lines and marks that occur. */
function Legend({ course: { soft, hard, marks } }: { course: Course }): Child {
  const limits = [
    ['soft', soft.at(-1) ?? null],
    ['hard', hard.at(-1) ?? null],
  ] as const
  const kinds = new Set(marks.map(({ kind }) => kind))
  return (
    <p class="legend">
      <span class="key tokens">tokens the model had</span>
      {limits.map(([name, limit]) =>
        limit === null ? null : (
          <span class={`key ${name}`}>
            {name} limit {count(limit)}
          </span>
        ),
      )}
      {Object.entries(MARKS).map(([kind, { name, sign }]) =>
        [...kinds].some((each) => each === kind) ? (
          <span class={`key ${kind}`}>
            <i aria-hidden="true">{sign}</i> {name}
          </span>
        ) : null,
      )}
    </p>
  )
}

/** The chart. Without `c`, its marks are not links. */
export function Plot({
  course,
  c,
  losses,
  hits = [],
}: {
  course: Course
  c?: string | undefined
  /** Undefined if they are not known yet. */
  losses?: Losses | undefined
  /** Revisions of search hits. */
  hits?: readonly number[]
}): Child {
  const scales = scalesOf(course)
  const { marks } = course
  const drawn: readonly Mark[] =
    marks.length > MAX_MARKS ? marks.filter(({ kind }) => kind !== 'cycle').slice(0, MAX_MARKS) : marks
  const lostIn = ({ revision }: Mark): number => losses?.get(revision) ?? 0
  const labels = lossLabels(drawn, lostIn, scales)
  return (
    <>
      <svg
        class="plot"
        role="group"
        data-last={scales.last}
        data-partial={losses === undefined && c !== undefined ? '' : undefined}
        data-base={TOP + LINES}
        data-tips={c === undefined ? undefined : tipsOf(course)}
        aria-label={`Tokens of the context over ${many(course.turns.at(-1) ?? 0, 'turn')} and ${many(course.revisions.length, 'event')}, with ${many(marks.length, 'mark')}`}
      >
        <Grid scales={scales} />
        <svg
          x="0"
          y={TOP}
          width="100%"
          height={LINES}
          viewBox={`0 0 ${String(WIDTH)} ${String(LINES)}`}
          preserveAspectRatio="none"
        >
          <CourseLines course={course} scales={scales} most={MAX_POINTS} />
        </svg>
        <Numbers course={course} scales={scales} />
        {hits.map((revision) => (
          <line
            class="hit"
            x1={percentOf(scales, revision)}
            x2={percentOf(scales, revision)}
            y1={TOP + LINES - 9}
            y2={TOP + LINES}
          />
        ))}
        {drawn.map((mark) => (
          <MarkSign c={c} mark={mark} scales={scales} lost={lostIn(mark)} label={labels.get(mark)} />
        ))}
      </svg>
      <Legend course={course} />
    </>
  )
}

/** The chart in small, with its highest value: charts of small and of large conversations have the same height. */
export function Spark({ course }: { course: Course }): Child {
  const scales = scalesOf({ ...course, hard: [] })
  return (
    <span class="spark">
      <svg viewBox={`0 -4 ${String(WIDTH)} ${String(LINES + 8)}`} preserveAspectRatio="none" aria-hidden="true">
        <CourseLines course={{ ...course, soft: [], hard: [] }} scales={scales} most={SPARK_POINTS} />
      </svg>
      <span class="most" title="The most that the model had">
        {many(scales.most, 'token')}
      </span>
    </span>
  )
}
