/** The course of a context: tokens against both limits, with what happened on it. */
import UPlot from 'uplot'

interface Mark {
  readonly kind: string
  readonly revision: number
  readonly text: string
}

interface Course {
  readonly revisions: number[]
  readonly tokens: number[]
  readonly soft: number[]
  readonly hard: number[]
  readonly marks: readonly Mark[]
}

/** A plot that is drawn. */
export interface Plotted {
  /** The last revision that it has. */
  readonly last: number
  /** Revisions of what stands out, in order. */
  marks(): readonly number[]
  /** Marks the revision that is shown. */
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
const SIGN_ROOM = 26

/** Draws the course into a box; a click on it leads to a revision. */
export async function drawPlot(box: HTMLElement, goTo: (revision: number) => void): Promise<Plotted> {
  const answer = await fetch(box.dataset['url'] ?? '')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own server made it
  const course = (await answer.json()) as Course
  const hits = (box.dataset['hits'] ?? '')
    .split(' ')
    .filter((each) => each !== '')
    .map(Number)
  const colour = (name: string): string =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
  let shown = -1

  /** Lines and signs behind and above the course. */
  function drawMarks(drawn: UPlot): void {
    const { ctx, bbox } = drawn
    const scale = devicePixelRatio
    const place = (revision: number): number => drawn.valToPos(revision, 'x', true)
    ctx.save()
    ctx.setLineDash([])
    ctx.fillStyle = colour('hit')
    for (const revision of hits)
      ctx.fillRect(place(revision) - scale, bbox.top + bbox.height - 9 * scale, 3 * scale, 9 * scale)
    ctx.font = `${String(11 * scale)}px system-ui, sans-serif`
    ctx.textAlign = 'center'
    let lastAt = Number.NEGATIVE_INFINITY
    for (const { kind, revision } of course.marks) {
      const x = place(revision)
      // Cycles that lie on top of each other are one sign.
      if (kind === 'cycle' && x - lastAt < 7 * scale) continue
      if (kind === 'cycle') lastAt = x
      ctx.fillStyle = colour(kind === 'failure' ? 'bad' : kind === 'cycle' ? 'good' : 'warn')
      // What is rarer stands above, where no cycle hides it.
      ctx.fillText(SIGNS[kind] ?? '•', x, bbox.top - (kind === 'cycle' ? 5 : 16) * scale)
    }
    ctx.restore()
  }

  const options = (): UPlot.Options => ({
    width: Math.max(200, box.clientWidth),
    height: HEIGHT,
    padding: [SIGN_ROOM + 4, 8, 0, 0],
    cursor: { y: false, drag: { x: true, y: false }, points: { size: 5 } },
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, high <= 0 ? 1 : high * 1.04] } },
    axes: [
      {
        stroke: colour('muted'),
        grid: { stroke: colour('line'), width: 1 },
        ticks: { stroke: colour('line'), width: 1 },
        font: '11px system-ui, sans-serif',
        size: 30,
      },
      {
        stroke: colour('muted'),
        grid: { stroke: colour('line'), width: 1 },
        ticks: { show: false },
        font: '11px system-ui, sans-serif',
        size: 58,
      },
    ],
    series: [
      {},
      { stroke: colour('accent'), width: 1.3, fill: colour('accent-soft'), points: { show: false } },
      { stroke: colour('warn'), width: 1, dash: [6, 4], points: { show: false } },
      { stroke: colour('bad'), width: 1, dash: [2, 3], points: { show: false } },
    ],
    hooks: { draw: [drawMarks], setScale: [mark], setSize: [mark] },
  })

  const data: UPlot.AlignedData = [course.revisions, course.tokens, course.soft, course.hard]
  const target = document.createElement('div')
  target.setAttribute('role', 'img')
  target.setAttribute(
    'aria-label',
    `Tokens of the context over ${String(course.revisions.length)} facts; ${String(course.marks.length)} marks, which the list of cycles names`,
  )
  box.replaceChildren(target)
  const tip = document.createElement('p')
  tip.className = 'tip'
  tip.hidden = true
  box.append(tip)

  let plot = new UPlot(options(), data, target)
  // What is shown is marked by an element of its own: the course is not drawn anew for each step.
  const place = document.createElement('i')
  place.className = 'place'

  function mark(): void {
    if (shown < 0) return
    plot.over.append(place)
    place.style.insetInlineStart = `${String(Math.round(plot.valToPos(shown, 'x')))}px`
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
      const there = course.marks.find((each) => Math.abs(plot.valToPos(each.revision, 'x') - left) < 4)
      tip.textContent = `revision ${revision.toLocaleString('en-US')}: ${(course.tokens[idx] ?? 0).toLocaleString('en-US')} tokens${there === undefined ? '' : ` · ${there.text}`}`
      tip.hidden = false
    })
    plot.over.addEventListener('mouseleave', () => {
      tip.hidden = true
    })
  }
  listen()

  /** Colours are the theme's, and are asked for when it is drawn. */
  function again(): void {
    plot.destroy()
    plot = new UPlot(options(), data, target)
    listen()
    mark()
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again)
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
      if (revision === shown) return
      shown = revision
      mark()
    },
  }
}
