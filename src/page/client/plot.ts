/** The interactive plot of the context size, with both limits and the marks. */
import UPlot from 'uplot'

interface Mark {
  readonly kind: string
  readonly revision: number
  readonly text: string
}

interface Course {
  readonly revisions: number[]
  readonly tokens: number[]
  readonly soft: (number | null)[]
  readonly hard: (number | null)[]
  readonly marks: readonly Mark[]
}

/** The interface of a drawn plot. */
export interface PlotHandle {
  /** The last revision. */
  readonly last: number
  /** Revisions of the marks, in order. */
  marks(): readonly number[]
  /** Moves the cursor to a revision. */
  show(revision: number): void
}

const SIGNS: Readonly<Record<string, string>> = {
  cycle: '▼',
  failure: '✕',
  'could-not-help': '!',
  undo: '↶',
  adoption: '◆',
  revert: '◇',
}

const HEIGHT = 216
const LABEL_FONT = '11px system-ui, sans-serif'
const SIGN_HEIGHT = 26

/** Width of the longest label, including its distance to the axis, in pixels. */
function labelWidth(labels: readonly string[]): number {
  const context = document.createElement('canvas').getContext('2d')
  if (context === null) return 58
  context.font = LABEL_FONT
  return Math.ceil(Math.max(0, ...labels.map((label) => context.measureText(label).width))) + 16
}

/** Shows the legend entries that occur in the plot. */
function showLegend(legend: Element | null, { soft, hard, marks }: Course): void {
  if (!(legend instanceof HTMLElement)) return
  const kinds = new Set(['tokens', ...marks.map(({ kind }) => kind)])
  if (soft.some((value) => value !== null)) kinds.add('soft')
  if (hard.some((value) => value !== null)) kinds.add('hard')
  for (const key of legend.querySelectorAll<HTMLElement>('[data-kind]'))
    key.hidden = !kinds.has(key.dataset['kind'] ?? '')
  legend.hidden = false
}

/** Draws the plot into a box. A click goes to a revision. */
export async function drawPlot(box: HTMLElement, goTo: (revision: number) => void): Promise<PlotHandle> {
  const answer = await fetch(box.dataset['url'] ?? '')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own server made it
  const course = (await answer.json()) as Course
  showLegend(box.parentElement?.querySelector('.legend') ?? null, course)
  const hits = (box.dataset['hits'] ?? '')
    .split(' ')
    .filter((each) => each !== '')
    .map(Number)
  const colour = (name: string): string =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
  let currentRevision = -1

  /** Draws the search hits and the marks. */
  function drawMarks(drawn: UPlot): void {
    const { ctx, bbox } = drawn
    const scale = devicePixelRatio
    const xOf = (revision: number): number => drawn.valToPos(revision, 'x', true)
    ctx.save()
    ctx.setLineDash([])
    ctx.fillStyle = colour('hit')
    for (const revision of hits)
      ctx.fillRect(xOf(revision) - scale, bbox.top + bbox.height - 9 * scale, 3 * scale, 9 * scale)
    ctx.font = `${String(11 * scale)}px system-ui, sans-serif`
    ctx.textAlign = 'center'
    let lastAt = Number.NEGATIVE_INFINITY
    for (const { kind, revision } of course.marks) {
      const x = xOf(revision)
      // Overlapping cycles share a sign.
      if (kind === 'cycle' && x - lastAt < 7 * scale) continue
      if (kind === 'cycle') lastAt = x
      ctx.fillStyle = colour(kind === 'failure' ? 'bad' : kind === 'cycle' ? 'good' : 'warn')
      // Rarer marks are drawn higher, where no cycle covers them.
      ctx.fillText(SIGNS[kind] ?? '•', x, bbox.top - (kind === 'cycle' ? 5 : 16) * scale)
    }
    ctx.restore()
  }

  const options = (): UPlot.Options => ({
    width: Math.max(200, box.clientWidth),
    height: HEIGHT,
    padding: [SIGN_HEIGHT + 4, 8, 0, 0],
    cursor: { y: false, drag: { x: true, y: false }, points: { size: 5 } },
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, high <= 0 ? 1 : high * 1.04] } },
    axes: [
      {
        stroke: colour('muted'),
        grid: { stroke: colour('line'), width: 1 },
        ticks: { stroke: colour('line'), width: 1 },
        font: LABEL_FONT,
        size: 30,
      },
      {
        stroke: colour('muted'),
        grid: { stroke: colour('line'), width: 1 },
        ticks: { show: false },
        font: LABEL_FONT,
        size: (_plot, labels) => labelWidth(labels ?? []),
      },
    ],
    series: [
      {},
      { stroke: colour('accent'), width: 1.3, fill: colour('accent-soft'), points: { show: false } },
      { stroke: colour('warn'), width: 1, dash: [6, 4], points: { show: false } },
      { stroke: colour('bad'), width: 1, dash: [2, 3], points: { show: false } },
    ],
    hooks: { draw: [drawMarks], setScale: [moveCursor], setSize: [moveCursor] },
  })

  const data: UPlot.AlignedData = [course.revisions, course.tokens, course.soft, course.hard]
  const target = document.createElement('div')
  target.setAttribute('role', 'img')
  target.setAttribute(
    'aria-label',
    `Tokens of the context over ${String(course.revisions.length)} events; ${String(course.marks.length)} marks, listed under Cycles`,
  )
  box.replaceChildren(target)
  const tip = document.createElement('p')
  tip.className = 'tip'
  tip.hidden = true
  box.append(tip)

  let plot = new UPlot(options(), data, target)
  // The cursor is a separate element, so that a step does not redraw the plot.
  const cursor = document.createElement('i')
  cursor.className = 'place'

  function moveCursor(): void {
    if (currentRevision < 0) return
    plot.over.append(cursor)
    cursor.style.insetInlineStart = `${String(Math.round(plot.valToPos(currentRevision, 'x')))}px`
  }

  function listen(): void {
    plot.over.addEventListener('click', () => {
      const { idx } = plot.cursor
      const revision = idx === null || idx === undefined ? undefined : course.revisions[idx]
      if (revision !== undefined) goTo(revision)
    })
    plot.over.addEventListener('mousemove', () => {
      const { idx, left = 0 } = plot.cursor
      const revision = idx === null || idx === undefined ? undefined : course.revisions[idx]
      if (idx === null || idx === undefined || revision === undefined) return
      const nearbyMark = course.marks.find((each) => Math.abs(plot.valToPos(each.revision, 'x') - left) < 4)
      tip.textContent = `revision ${revision.toLocaleString('en-US')}: ${(course.tokens[idx] ?? 0).toLocaleString('en-US')} tokens${nearbyMark === undefined ? '' : ` · ${nearbyMark.text}`}`
      tip.hidden = false
    })
    plot.over.addEventListener('mouseleave', () => {
      tip.hidden = true
    })
  }
  listen()

  /** Redraws the plot, because its colours come from the theme. */
  function redraw(): void {
    plot.destroy()
    plot = new UPlot(options(), data, target)
    listen()
    moveCursor()
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)
  let width = box.clientWidth
  new ResizeObserver(() => {
    if (box.clientWidth === width) return
    width = box.clientWidth
    plot.setSize({ width: Math.max(200, width), height: HEIGHT })
  }).observe(box)

  const revisions = course.marks.map(({ revision }) => revision)
  return {
    last: course.revisions.at(-1) ?? 0,
    marks: () => revisions,
    show(revision) {
      if (revision === currentRevision) return
      currentRevision = revision
      moveCursor()
    },
  }
}
