/**
 * The script of the page: loads parts of long lists on demand, moves the slider, opens the drawer and handles keys.
 * Without it, links reach the same pages. Texts of conversations arrive only as markup that the server has escaped.
 */
import { showChart, type Chart } from './chart.js'
import { all, fetchFragment, one } from './dom.js'
import { unwatchParts, watchParts } from './parts.js'
import { filterWhileTyping, watchRows } from './start.js'

document.documentElement.classList.add('scripted')

// --- The slider ------------------------------------------------------------------------------------------------------

const slider = one<HTMLInputElement>('#revision')
const step = (): HTMLElement | null => one<HTMLElement>('#step')
const params = new URLSearchParams(location.search)
const conversation = params.get('c') ?? ''

let currentRevision = Number(step()?.dataset['revision'] ?? '0')
let head = Number(step()?.dataset['head'] ?? '0')
let targetRevision = currentRevision
let pendingRequest: AbortController | undefined
let chart: Chart | undefined
let turn = step()?.dataset['turn']

const grouped = new Intl.NumberFormat('en-US')

/** Updates the query of the address. */
function updateAddress(query: Readonly<Record<string, string | undefined>>): void {
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

const NO_ANSWER = 'No answer. Is `context-ledger page` still running?'

/** Shows a revision. While a request is pending, only the last requested revision is kept. */
async function goTo(revision: number): Promise<void> {
  if (slider === null) return
  targetRevision = Math.max(0, Math.min(head, revision))
  slider.value = String(targetRevision)
  updateControls()
  if (pendingRequest !== undefined) return
  let answered = true
  while (answered && targetRevision !== currentRevision) {
    const [to, since] = [targetRevision, currentRevision]
    pendingRequest = new AbortController()
    try {
      const content = await fetchFragment(`/conversation/step?${stepQuery(to, since)}`, pendingRequest.signal)
      const next = content === undefined ? null : one<HTMLElement>('#step', content)
      answered = next !== null
      if (next === null) continue
      unwatchParts()
      step()?.replaceWith(next)
      currentRevision = to
      turn = next.dataset['turn']
      updateAddress({ at: String(to), since: undefined, m: undefined, why: undefined, part: undefined })
      watchParts(next)
    } catch {
      answered = false
    } finally {
      pendingRequest = undefined
    }
  }
  targetRevision = currentRevision
  slider.value = String(currentRevision)
  updateControls()
  const output = one<HTMLOutputElement>('#at')
  if (!answered && output !== null) output.value = NO_ANSWER
}

/** Updates the revision label, the step links and the plot. */
function updateControls(): void {
  const output = one<HTMLOutputElement>('#at')
  if (output !== null)
    output.value = `${turn === undefined ? '' : `${turn}, `}event ${grouped.format(targetRevision)} of ${grouped.format(head)}`
  for (const [id, to] of [
    ['#back', targetRevision - 1],
    ['#on', targetRevision + 1],
  ] as const) {
    const stepLink = one<HTMLAnchorElement>(id)
    if (to < 0 || to > head) stepLink?.removeAttribute('href')
    else stepLink?.setAttribute('href', `/conversation?${stepQuery(to, targetRevision)}`)
  }
  chart?.show(targetRevision)
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
    void goTo(targetRevision + by)
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
  if (targetRevision >= head) void goTo(0)
  playing = window.setInterval(() => {
    if (pendingRequest !== undefined) return
    if (targetRevision >= head) setPlaying(false)
    else void goTo(targetRevision + 1)
  }, PLAY_MS)
}
play?.addEventListener('click', () => {
  setPlaying(playing === undefined)
})

// --- The drawer ------------------------------------------------------------------------------------------------------

const drawer = one<HTMLElement>('#drawer')
const NARROW = 760
let previousFocus: Element | null = null

async function explain(line: HTMLAnchorElement): Promise<void> {
  const content = one('#drawer-content')
  if (drawer === null || content === null) return
  previousFocus = line
  for (const each of all('.ln.chosen')) each.classList.remove('chosen')
  line.classList.add('chosen')
  const url = new URL(line.href)
  drawer.hidden = false
  content.setAttribute('aria-busy', 'true')
  const found = await fetchFragment(`/conversation/why${url.search}`)
  content.removeAttribute('aria-busy')
  if (found === undefined) return
  content.replaceChildren(found)
  updateAddress({ why: url.searchParams.get('why') ?? undefined, at: url.searchParams.get('at') ?? undefined })
  drawer.scrollTop = 0
  // On a narrow screen the drawer covers the lower part, so scroll the line into view.
  if (line.getBoundingClientRect().bottom > drawer.getBoundingClientRect().top && innerWidth <= NARROW)
    line.scrollIntoView({ block: 'start' })
  drawer.focus({ preventScroll: true })
}

function closeDrawer(): void {
  if (drawer === null || drawer.hidden) return
  drawer.hidden = true
  updateAddress({ why: undefined })
  if (previousFocus instanceof HTMLElement && previousFocus.isConnected) previousFocus.focus({ preventScroll: true })
}

document.addEventListener('click', (event) => {
  if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0)
    return
  const line = event.target.closest<HTMLAnchorElement>('#step a.ln')
  if (line !== null && drawer !== null) {
    event.preventDefault()
    // Do not explain if the user is selecting text.
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
  const fold = found.closest<HTMLDetailsElement>('details:not([open])')
  if (fold !== null) fold.open = true
  found.focus({ preventScroll: true })
  found.scrollIntoView({ block: 'nearest' })
}

/** The next or previous element, relative to the focus. */
function nextOf(selector: string, by: 1 | -1): HTMLElement | undefined {
  const elements = all<HTMLElement>(selector)
  const { activeElement } = document
  const at = elements.findIndex((each) => each === activeElement)
  if (at !== -1) return elements[at + by]
  if (activeElement !== null && activeElement !== document.body) {
    // If the focus is inside or between the elements, use their document order.
    const follows = (each: Element): boolean =>
      (activeElement.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
    const following = elements.findIndex(follows)
    const found = by === 1 ? elements[following] : elements[(following === -1 ? elements.length : following) - 1]
    if (found !== undefined) return found
  }
  const top = elements.findIndex((each) => each.getBoundingClientRect().bottom > 140)
  return elements[Math.max(0, top)]
}

function goToMark(by: 1 | -1): void {
  const marks = chart?.marks() ?? []
  const found = by === 1 ? marks.find((each) => each > targetRevision) : marks.findLast((each) => each < targetRevision)
  if (found !== undefined) void goTo(found)
}

/** Elements for j and k: messages, events, rows of a list, boxes of the graph. */
const LISTED = '.context .part > .msg, .events .event, .entry .name, .rows tbody tr a, .headline, .graph a'

const hits = all<HTMLAnchorElement>('a[data-hit]')

const KEYS: Readonly<Record<string, (event: KeyboardEvent) => void>> = {
  ArrowLeft: (event) => void goTo(targetRevision - (event.shiftKey ? 10 : 1)),
  ArrowRight: (event) => void goTo(targetRevision + (event.shiftKey ? 10 : 1)),
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
  o: () => {
    const calls = document.activeElement?.closest('.msg, .headline')?.querySelectorAll('details') ?? []
    const isOpen = [...calls].some((each) => each.open)
    for (const each of calls) each.open = !isOpen
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
  const index = hits.findIndex((hit) => hit === document.activeElement)
  const found = hits[index === -1 ? (by === 1 ? 0 : hits.length - 1) : index + by]
  if (found === undefined) return
  // A hit in a fold cannot have the focus.
  const fold = found.closest('details')
  if (fold !== null) fold.open = true
  focusOn(found)
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
    // The slider handles arrow keys itself, and a button handles Space.
    if (slider === null || target === slider || (key === ' ' && target.matches('button, a, summary'))) return
  }
  const tab = /^[1-8]$/u.test(key) ? one<HTMLAnchorElement>(`[data-key="${key}"]`) : null
  if (tab !== null) {
    location.assign(tab.href)
    return
  }
  const act = KEYS[key]
  if (act === undefined) return
  event.preventDefault()
  act(event)
})

// --- Printing --------------------------------------------------------------------------------------------------------

let folded: HTMLDetailsElement[] = []

addEventListener('beforeprint', () => {
  folded = all<HTMLDetailsElement>('details:not([open])')
  for (const each of folded) each.open = true
})
addEventListener('afterprint', () => {
  for (const each of folded) each.open = false
  folded = []
})

// --- Initialization ------------------------------------------------------------------------------------------

watchParts(document)
// On a narrow screen the tabs scroll.
const tabs = one<HTMLElement>('.tabs')
const currentTab = one<HTMLElement>('.tabs [aria-current]')
if (tabs !== null && currentTab !== null)
  tabs.scrollLeft = currentTab.offsetLeft - (tabs.clientWidth - currentTab.offsetWidth) / 2
one('.msg.sought')?.scrollIntoView({ block: 'center' })
one('[data-sought]')?.scrollIntoView()
// Focus the box of the graph that was expanded or collapsed.
const opened = location.hash.startsWith('#box-')
  ? document.querySelector<SVGElement>(`[id="${CSS.escape(location.hash.slice(1))}"]`)
  : null
opened?.focus()

/** How often the chart is fetched until it shows the losses. */
const MAX_CHARTS = 12

async function startChart(box: HTMLElement, range: HTMLInputElement): Promise<void> {
  // The server waits a moment for the losses before each answer.
  for (let tries = 0; tries < MAX_CHARTS && (tries === 0 || chart?.isPartial === true); tries += 1) {
    chart = await showChart(box, (revision) => void goTo(revision))
    if (chart === undefined) return
    head = Math.max(head, chart.last)
    range.max = String(head)
    updateControls()
  }
}
const plot = one<HTMLElement>('#plot')
if (plot !== null && slider !== null) void startChart(plot, slider)
watchRows(document)
filterWhileTyping()
