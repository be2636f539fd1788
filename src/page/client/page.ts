/**
 * What the page does beside showing what the server wrote: it brings parts as they are looked at, steps through
 * revisions, opens the drawer, and listens to keys. Without it the same is reached by links. Texts of conversations
 * come as markup that the server escaped, and as nothing else.
 */
import type { Plotted } from './plot.js'

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- who asks knows which element has that name
const one = <T extends Element>(selector: string, within: ParentNode = document): T | null =>
  within.querySelector<T>(selector)
const all = <T extends Element>(selector: string, within: ParentNode = document): T[] => [
  ...within.querySelectorAll<T>(selector),
]

document.documentElement.classList.add('scripted')

/** A part of a page, as markup; undefined where it did not come. */
async function fetched(url: string, signal?: AbortSignal): Promise<DocumentFragment | undefined> {
  const answer = await fetch(url, { headers: { 'x-part': '1' }, ...(signal === undefined ? {} : { signal }) })
  const markup = await answer.text()
  if (answer.status >= 500 && markup === '') return undefined
  const template = document.createElement('template')
  template.innerHTML = markup
  return template.content
}

// --- Parts of long lists ---------------------------------------------------------------------------------------------

const FAR = '2400px'
const LINE = 22

/** Parts that are near are filled, and those that are far are emptied to their height. */
const watched = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!(target instanceof HTMLElement)) continue
      if (isIntersecting) void fill(target)
      else empty(target)
    }
  },
  { rootMargin: `${FAR} 0px` },
)

const links = new WeakMap<HTMLElement, Node[]>()

async function fill(part: HTMLElement): Promise<void> {
  if (part.dataset['lines'] === undefined || part.dataset['busy'] !== undefined) return
  part.dataset['busy'] = ''
  try {
    const content = await fetched(part.dataset['part'] ?? '')
    if (content === undefined || part.dataset['busy'] === undefined) return
    if (!links.has(part)) links.set(part, [...part.childNodes])
    part.replaceChildren(content)
    part.style.height = ''
    delete part.dataset['lines']
  } catch {
    // Its link is still there.
  } finally {
    delete part.dataset['busy']
  }
}

function empty(part: HTMLElement): void {
  delete part.dataset['busy']
  if (part.dataset['lines'] !== undefined || part.contains(document.activeElement)) return
  const { height } = part.getBoundingClientRect()
  part.dataset['lines'] = String(Math.max(1, Math.round(height / LINE)))
  part.replaceChildren(...(links.get(part) ?? []))
  part.style.height = `${String(height)}px`
}

function watchParts(within: ParentNode): void {
  for (const part of all<HTMLElement>('[data-parts] > .part', within)) {
    const lines = Number(part.dataset['lines'])
    if (part.dataset['lines'] !== undefined) part.style.height = `${String(lines * LINE)}px`
    watched.observe(part)
  }
}

// --- The slider ------------------------------------------------------------------------------------------------------

const slider = one<HTMLInputElement>('#revision')
const step = (): HTMLElement | null => one<HTMLElement>('#step')
const params = new URLSearchParams(location.search)
const conversation = params.get('c') ?? ''

let shown = Number(step()?.dataset['revision'] ?? '0')
let head = Number(step()?.dataset['head'] ?? '0')
let wanted = shown
let underway: AbortController | undefined
let plotted: Plotted | undefined

const grouped = new Intl.NumberFormat('en-US')

/** The address of what is shown now. */
function remember(query: Readonly<Record<string, string | undefined>>): void {
  const now = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) now.delete(name)
    else now.set(name, value)
  }
  history.replaceState(null, '', `${location.pathname}?${now.toString()}`)
}

const stepQuery = (at: number, since: number): string => {
  const query = new URLSearchParams({ c: conversation, at: String(at), since: String(since) })
  const words = new URLSearchParams(location.search).get('q')
  if (words !== null) query.set('q', words)
  return query.toString()
}

const NO_ANSWER = 'no answer: is the page still running?'

/** Shows a revision; of those that are asked for while one is on its way, the last is shown. */
async function goTo(revision: number): Promise<void> {
  if (slider === null) return
  wanted = Math.max(0, Math.min(head, revision))
  slider.value = String(wanted)
  tell()
  if (underway !== undefined) return
  let answered = true
  while (answered && wanted !== shown) {
    const [to, since] = [wanted, shown]
    underway = new AbortController()
    try {
      const content = await fetched(`/conversation/step?${stepQuery(to, since)}`, underway.signal)
      const next = content === undefined ? null : one<HTMLElement>('#step', content)
      answered = next !== null
      if (next === null) continue
      watched.disconnect()
      step()?.replaceWith(next)
      shown = to
      remember({ at: String(to), since: undefined, m: undefined, why: undefined, part: undefined })
      watchParts(next)
    } catch {
      answered = false
    } finally {
      underway = undefined
    }
  }
  wanted = shown
  slider.value = String(shown)
  tell()
  const output = one<HTMLOutputElement>('#at')
  if (!answered && output !== null) output.value = NO_ANSWER
}

/** What says which revision is shown, beside the context itself. */
function tell(): void {
  const output = one<HTMLOutputElement>('#at')
  if (output !== null) output.value = `revision ${grouped.format(wanted)} of ${grouped.format(head)}`
  for (const [id, to] of [
    ['#back', wanted - 1],
    ['#on', wanted + 1],
  ] as const) {
    const there = one<HTMLAnchorElement>(id)
    if (to < 0 || to > head) there?.removeAttribute('href')
    else there?.setAttribute('href', `/conversation?${stepQuery(to, wanted)}`)
  }
  plotted?.show(wanted)
}

slider?.addEventListener('input', () => {
  void goTo(Number(slider.value))
})
for (const [id, by] of [
  ['#back', -1],
  ['#on', 1],
] as const)
  one(id)?.addEventListener('click', (event) => {
    event.preventDefault()
    void goTo(wanted + by)
  })

const PLAY_MS = 350
let playing: number | undefined
const play = one<HTMLButtonElement>('#play')

function setPlaying(on: boolean): void {
  if (play === null) return
  window.clearInterval(playing)
  playing = undefined
  play.setAttribute('aria-pressed', String(on))
  play.textContent = on ? 'Pause' : 'Play'
  if (!on) return
  if (wanted >= head) void goTo(0)
  playing = window.setInterval(() => {
    if (underway !== undefined) return
    if (wanted >= head) setPlaying(false)
    else void goTo(wanted + 1)
  }, PLAY_MS)
}
play?.addEventListener('click', () => {
  setPlaying(playing === undefined)
})

// --- The drawer ------------------------------------------------------------------------------------------------------

const drawer = one<HTMLElement>('#drawer')
const NARROW = 760
let cameFrom: Element | null = null

async function explain(line: HTMLAnchorElement): Promise<void> {
  const content = one('#drawer-content')
  if (drawer === null || content === null) return
  cameFrom = line
  for (const each of all('.ln.chosen')) each.classList.remove('chosen')
  line.classList.add('chosen')
  const asked = new URL(line.href)
  drawer.hidden = false
  content.setAttribute('aria-busy', 'true')
  const found = await fetched(`/conversation/why${asked.search}`)
  content.removeAttribute('aria-busy')
  if (found === undefined) return
  content.replaceChildren(found)
  remember({ why: asked.searchParams.get('why') ?? undefined, at: asked.searchParams.get('at') ?? undefined })
  drawer.scrollTop = 0
  // On a narrow screen it lies over the lower part: the line that it is about stays in sight.
  if (line.getBoundingClientRect().bottom > drawer.getBoundingClientRect().top && innerWidth <= NARROW)
    line.scrollIntoView({ block: 'start' })
  drawer.focus({ preventScroll: true })
}

function closeDrawer(): void {
  if (drawer === null || drawer.hidden) return
  drawer.hidden = true
  remember({ why: undefined })
  if (cameFrom instanceof HTMLElement && cameFrom.isConnected) cameFrom.focus({ preventScroll: true })
}

document.addEventListener('click', (event) => {
  if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0)
    return
  const line = event.target.closest<HTMLAnchorElement>('#step a.ln')
  if (line !== null && drawer !== null) {
    event.preventDefault()
    // Whoever marks a text to copy it wants no explanation.
    if ((getSelection()?.toString() ?? '') === '') void explain(line)
    return
  }
  if (event.target.closest('[data-new]') !== null && one('#new') !== null) {
    event.preventDefault()
    focusOn(one<HTMLElement>('#new') ?? undefined)
    return
  }
  if (event.target.closest('#drawer .close') !== null) {
    event.preventDefault()
    closeDrawer()
  }
})

// --- Keys ------------------------------------------------------------------------------------------------------------

const keys = one<HTMLDialogElement>('#keys')
for (const button of all('[data-open="keys"]'))
  button.addEventListener('click', () => {
    keys?.showModal()
  })

function focusOn(found: HTMLElement | undefined): void {
  if (found === undefined) return
  found.focus({ preventScroll: true })
  found.scrollIntoView({ block: 'nearest' })
}

/** The next or previous one of some elements, from where the focus is. */
function nextOf(selector: string, by: 1 | -1): HTMLElement | undefined {
  const these = all<HTMLElement>(selector)
  const { activeElement } = document
  const at = these.findIndex((each) => each === activeElement)
  if (at !== -1) return these[at + by]
  if (activeElement !== null && activeElement !== document.body) {
    // From within one, the one that holds it or stands behind it comes first.
    const follows = (each: Element): boolean =>
      (activeElement.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
    const behind = these.findIndex(follows)
    const found = by === 1 ? these[behind] : these[(behind === -1 ? these.length : behind) - 1]
    if (found !== undefined) return found
  }
  const top = these.findIndex((each) => each.getBoundingClientRect().bottom > 140)
  return these[Math.max(0, top)]
}

function goToMark(by: 1 | -1): void {
  const marks = plotted?.marks() ?? []
  const found = by === 1 ? marks.find((each) => each > wanted) : marks.findLast((each) => each < wanted)
  if (found !== undefined) void goTo(found)
}

/** What j and k go through: messages, facts, rows of a list, boxes of the graph. */
const LISTED = '.context .msg, .events .event, .rows tbody tr a, .graph a'

const hits = all<HTMLAnchorElement>('a[data-hit]')

const KEYS: Readonly<Record<string, (event: KeyboardEvent) => void>> = {
  ArrowLeft: (event) => void goTo(wanted - (event.shiftKey ? 10 : 1)),
  ArrowRight: (event) => void goTo(wanted + (event.shiftKey ? 10 : 1)),
  '[': () => {
    goToMark(-1)
  },
  ']': () => {
    goToMark(1)
  },
  ' ': () => {
    setPlaying(playing === undefined)
  },
  j: () => {
    focusOn(nextOf(LISTED, 1))
  },
  k: () => {
    focusOn(nextOf(LISTED, -1))
  },
  J: () => {
    focusOn(nextOf('#step a.ln', 1))
  },
  K: () => {
    focusOn(nextOf('#step a.ln', -1))
  },
  e: () => {
    const { activeElement } = document
    const line = activeElement?.matches('a.ln') === true ? activeElement : activeElement?.querySelector('a.ln')
    if (line instanceof HTMLAnchorElement) void explain(line)
  },
  n: () => {
    goToHit(1)
  },
  p: () => {
    goToHit(-1)
  },
  '/': () => {
    const field = one<HTMLInputElement>('[data-search]')
    field?.focus()
    field?.select()
  },
  '?': () => {
    keys?.showModal()
  },
  Escape: closeDrawer,
}

function goToHit(by: 1 | -1): void {
  const place = hits.findIndex((hit) => hit === document.activeElement)
  const found = hits[place === -1 ? (by === 1 ? 0 : hits.length - 1) : place + by]
  if (found !== undefined) focusOn(found)
}

const NEEDS_SLIDER = new Set(['ArrowLeft', 'ArrowRight', '[', ']', ' '])

document.addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event
  if (ctrlKey || metaKey || altKey || keys?.open === true || !(target instanceof Element)) return
  const isField = target.matches('input:not([type=range]), select, textarea')
  if (isField) {
    if (key === 'Escape' && target instanceof HTMLElement) target.blur()
    return
  }
  if (NEEDS_SLIDER.has(key)) {
    // The slider has its own arrows, and a button its own space.
    if (slider === null || target === slider || (key === ' ' && target.matches('button, a, summary'))) return
  }
  const room = /^[1-7]$/u.test(key) ? one<HTMLAnchorElement>(`[data-key="${key}"]`) : null
  if (room !== null) {
    location.assign(room.href)
    return
  }
  const act = KEYS[key]
  if (act === undefined) return
  event.preventDefault()
  act(event)
})

// --- On paper --------------------------------------------------------------------------------------------------------

/** Pixels that a sheet has room for. */
const SHEET = 680
let folded: HTMLDetailsElement[] = []

addEventListener('beforeprint', () => {
  folded = all<HTMLDetailsElement>('details:not([open])')
  for (const each of folded) each.open = true
  const drawn = one<HTMLElement>('#plot')
  if (drawn !== null) drawn.style.zoom = String(Math.min(1, SHEET / Math.max(1, drawn.clientWidth)))
})
addEventListener('afterprint', () => {
  for (const each of folded) each.open = false
  folded = []
  const drawn = one<HTMLElement>('#plot')
  if (drawn !== null) drawn.style.zoom = ''
})

// --- What is there at first ------------------------------------------------------------------------------------------

watchParts(document)
one('.msg.sought')?.scrollIntoView({ block: 'center' })
one('[data-sought]')?.scrollIntoView()
// The box of the graph that was opened or closed: keys go on from there.
const opened = location.hash.startsWith('#box-')
  ? document.querySelector<SVGElement>(`[id="${CSS.escape(location.hash.slice(1))}"]`)
  : null
opened?.focus()

/** Rows whose log was not read yet, one after the other. */
async function fillRows(): Promise<void> {
  for (const row of all<HTMLTableRowElement>('tr[data-row]')) {
    const content = await fetched(row.dataset['row'] ?? '').catch(() => undefined)
    const cells = content === undefined ? [] : all('td', content)
    for (const [at, cell] of cells.entries()) row.cells[6 + at]?.replaceWith(cell)
    delete row.dataset['row']
  }
}
void fillRows()

async function showPlot(box: HTMLElement, range: HTMLInputElement): Promise<void> {
  const { drawPlot } = await import('./plot.js')
  try {
    plotted = await drawPlot(box, (revision) => void goTo(revision))
  } catch {
    box.textContent = 'The course cannot be drawn: a fact of this conversation cannot be read. Verify names it.'
    return
  }
  head = Math.max(head, plotted.last)
  range.max = String(head)
  tell()
}
const plot = one<HTMLElement>('#plot')
if (plot !== null && slider !== null) void showPlot(plot, slider)
