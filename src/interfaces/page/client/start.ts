/** The start page: rows are completed when they come into view, totals when they are opened, and the list follows the field while one types. */
import { all, fetchFragment, one } from './dom.js'

const WAIT_MS = 150
let pending: Promise<void> = Promise.resolve()

/** Replaces a row with its complete form. */
async function complete(row: HTMLElement): Promise<void> {
  const url = row.dataset['row']
  if (url === undefined || !row.isConnected) return
  delete row.dataset['row']
  const entry = await fetchFragment(url)
    .then((content) => (content === undefined ? null : one('.entry', content)))
    .catch(() => null)
  if (entry !== null && !row.contains(document.activeElement)) row.replaceWith(entry)
}

const visibleRows = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries)
      if (isIntersecting && target instanceof HTMLElement) {
        visibleRows.unobserve(target)
        // One at a time, because each reads a whole conversation.
        pending = pending.then(async () => await complete(target))
      }
  },
  { rootMargin: '400px 0px' },
)

/** Replaces the content of a fold below its summary. */
async function fetchTotals(fold: HTMLElement): Promise<void> {
  const content = await fetchFragment(fold.dataset['totals'] ?? '').catch(() => undefined)
  const totals = content === undefined ? null : one('#totals', content)
  if (totals !== null) fold.lastElementChild?.replaceWith(totals)
}

/** Completes the rows that come into view, and the totals when they are opened. */
export function watchRows(within: ParentNode): void {
  for (const row of all<HTMLElement>('[data-row]', within)) visibleRows.observe(row)
  for (const fold of all<HTMLElement>('[data-totals]', within))
    fold.addEventListener('toggle', () => void fetchTotals(fold), { once: true })
}

/** Fetches the list for the words in the field; the answer to the last words counts. */
export function filterWhileTyping(): void {
  const field = one<HTMLInputElement>('input[data-filter]')
  const form = field?.form
  if (field === null || form === null || form === undefined) return
  let timer: number | undefined
  let request: AbortController | undefined
  const load = async (): Promise<void> => {
    request?.abort()
    request = new AbortController()
    const query = new URLSearchParams()
    for (const [name, value] of new FormData(form))
      if (typeof value === 'string' && value !== '') query.set(name, value)
    const url = `/?${query.toString()}`
    const content = await fetchFragment(url, request.signal).catch(() => undefined)
    const found = content === undefined ? null : one('#found', content)
    if (content === undefined || found === null) return
    // The heading and the orders depend on whether there are words.
    for (const selector of ['h1.title', '.choices', '#found']) {
      const next = one(selector, content)
      if (next !== null) one(selector)?.replaceWith(next)
    }
    history.replaceState(null, '', url)
    watchRows(found)
  }
  field.addEventListener('input', () => {
    window.clearTimeout(timer)
    timer = window.setTimeout(() => void load(), WAIT_MS)
  })
}
