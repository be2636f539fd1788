/** Parts of long lists: those near the viewport are filled, distant ones are emptied and keep their height. */
import { all, fetchFragment } from './dom.js'

const FAR = '2400px'
const LINE = 22

/** Fills parts near the viewport. Empties distant parts and keeps their height. */
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
    const content = await fetchFragment(part.dataset['part'] ?? '')
    if (content === undefined || part.dataset['busy'] === undefined) return
    if (!links.has(part)) links.set(part, [...part.childNodes])
    part.replaceChildren(content)
    part.style.height = ''
    delete part.dataset['lines']
  } catch {
    // The part still has its link.
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

/** Watches the parts of a list. */
export function watchParts(within: ParentNode): void {
  for (const part of all<HTMLElement>('[data-parts] > .part', within)) {
    const lines = Number(part.dataset['lines'])
    if (part.dataset['lines'] !== undefined) part.style.height = `${String(lines * LINE)}px`
    watched.observe(part)
  }
}

/** Ends watching, before the list is replaced. */
export const unwatchParts = (): void => {
  watched.disconnect()
}
