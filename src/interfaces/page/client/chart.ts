/** The chart of a conversation: the server draws it; here it gets a cursor, and follows the pointer. */
import { all, fetchFragment, one } from './dom.js'

/** A shown chart. */
export interface Chart {
  /** The last revision. */
  readonly last: number
  /** The server still counts what the compactions lost. */
  readonly isPartial: boolean
  /** Revisions of the marks, in order. */
  marks(): readonly number[]
  /** Moves the cursor to a revision. */
  show(revision: number): void
}

/** Space at both sides, in percent; as in src/interfaces/page/views/plot.tsx. */
const SIDE = 1
const FAILED = 'Cannot draw the chart: an event of this conversation is not readable. See the Verify tab.'
const grouped = new Intl.NumberFormat('en-US')

/** A point for the pointer. */
interface Tip {
  readonly revision: number
  readonly turn: number
  readonly tokens: number
}

const tipsOf = (svg: SVGElement): readonly Tip[] =>
  (svg.dataset['tips'] ?? '').split(' ').map((text) => {
    const [revision = 0, turn = 0, tokens = 0] = text.split(',').map(Number)
    return { revision, turn, tokens }
  })

/** The last point at or before a revision. */
const tipAt = (tips: readonly Tip[], revision: number): Tip | undefined =>
  tips.findLast((tip) => tip.revision <= revision) ?? tips[0]

/** The cursor: a line that the drawing does not contain, so that a step does not draw it again. */
function cursorIn(svg: SVGElement): SVGLineElement {
  const cursor = document.createElementNS('http://www.w3.org/2000/svg', 'line')
  cursor.setAttribute('class', 'place')
  cursor.setAttribute('y1', '30')
  cursor.setAttribute('y2', svg.dataset['base'] ?? '0')
  svg.append(cursor)
  return cursor
}

/** Follows the pointer: a text for its place, and a click goes to the revision there. */
function followPointer(svg: SVGElement, last: number, goTo: (revision: number) => void): void {
  const tips = tipsOf(svg)
  const output = one<HTMLElement>('#tip')
  const revisionAt = (event: MouseEvent): number => {
    const { left, width } = svg.getBoundingClientRect()
    const share = (((event.clientX - left) / Math.max(1, width)) * 100 - SIDE) / (100 - 2 * SIDE)
    return Math.round(Math.max(0, Math.min(1, share)) * last)
  }
  svg.addEventListener('click', (event) => {
    event.preventDefault()
    const mark = event.target instanceof Element ? event.target.closest<SVGElement>('[data-mark]') : null
    goTo(mark === null ? revisionAt(event) : Number(mark.dataset['mark']))
  })
  svg.addEventListener('mousemove', (event) => {
    const mark = event.target instanceof Element ? event.target.closest('[data-mark] , g') : null
    const tip = tipAt(tips, revisionAt(event))
    if (output === null || tip === undefined) return
    const text = mark?.querySelector('title')?.textContent
    // As `turnName` in src/interfaces/page/views/places.tsx.
    const turn = tip.turn === 0 ? 'the beginning' : `turn ${grouped.format(tip.turn)}`
    output.textContent = `${turn} · ${grouped.format(tip.tokens)} tokens${text === undefined ? '' : ` · ${text}`}`
  })
  svg.addEventListener('mouseleave', () => {
    if (output !== null) output.textContent = ''
  })
}

/** Fetches the chart into a box. A click goes to a revision. Undefined if there is none. */
export async function showChart(box: HTMLElement, goTo: (revision: number) => void): Promise<Chart | undefined> {
  box.textContent = 'Drawing the chart …'
  const content = await fetchFragment(box.dataset['url'] ?? '').catch(() => undefined)
  const svg = content === undefined ? null : one<SVGElement>('svg.plot', content)
  if (content === undefined || svg === null) {
    box.textContent = FAILED
    return undefined
  }
  box.replaceChildren(content)
  const last = Number(svg.dataset['last'])
  const cursor = cursorIn(svg)
  followPointer(svg, last, goTo)
  const revisions = all<SVGElement>('[data-mark]', svg).map((each) => Number(each.dataset['mark']))
  return {
    last,
    isPartial: svg.dataset['partial'] !== undefined,
    marks: () => revisions,
    show(revision) {
      const x = `${(SIDE + (revision / Math.max(1, last)) * (100 - 2 * SIDE)).toFixed(2)}%`
      cursor.setAttribute('x1', x)
      cursor.setAttribute('x2', x)
    },
  }
}
