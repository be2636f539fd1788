/**
 * Selects the sentences of a summary: those of the highest worth, given what is already chosen, so that nothing is
 * repeated.
 *
 * The cost of a sentence does not matter as long as it fits. Dividing its worth by the root of its tokens would favour
 * short exclamations: measured on LoCoMo, 0.60 of the terms in the answers are kept then, and 0.66 without.
 *
 * Worth only decreases as more is chosen, so a queue that re-evaluates only its first entry ("lazy greedy") gives the
 * same result as re-evaluating all, in nearly linear time.
 */

/** A sentence that may be selected. */
export interface Candidate {
  /** Its index in time. */
  readonly order: number
  /** Sentences of one group (a message) count less, the more of them are chosen. */
  readonly group: number
  readonly text: string
  readonly tokens: number
  /** Additional tokens of its line: the speaker and the line break. */
  readonly overhead: number
  readonly score: number
  readonly terms: ReadonlySet<string>
}

// A sentence with a smaller share of new terms repeats the chosen ones.
const LEAST_NOVELTY = 0.25
// A sentence with a lower score is never selected, even if it fits.
const LEAST_SCORE = 0.35
const GROUP_DECAY = 0.85

interface Entry<C extends Candidate> {
  readonly candidate: C
  worth: number
}

/** A binary heap with the highest worth first, and the earliest of equal ones, so that the order is deterministic. */
function createHeap<C extends Candidate>(
  entries: Entry<C>[],
): { pop: () => Entry<C> | undefined; push: (entry: Entry<C>) => void; top: () => Entry<C> | undefined } {
  const heap = entries
  const before = (a: Entry<C>, b: Entry<C>): boolean =>
    a.worth === b.worth ? a.candidate.order < b.candidate.order : a.worth > b.worth
  const swapIf = (i: number, j: number): boolean => {
    const [a, b] = [heap[i], heap[j]]
    if (a === undefined || b === undefined || !before(b, a)) return false
    heap[i] = b
    heap[j] = a
    return true
  }
  const sink = (start: number): void => {
    let at = start
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const [l, r] = [heap[left], heap[right]]
      const child = r !== undefined && l !== undefined && before(r, l) ? right : left
      if (!swapIf(at, child)) return
      at = child
    }
  }
  const rise = (start: number): void => {
    let at = start
    while (at > 0 && swapIf((at - 1) >> 1, at)) at = (at - 1) >> 1
  }
  for (let at = heap.length >> 1; at >= 0; at -= 1) sink(at)
  return {
    top: () => heap[0],
    push: (entry) => {
      heap.push(entry)
      rise(heap.length - 1)
    },
    pop: () => {
      const first = heap[0]
      const last = heap.pop()
      if (last !== undefined && heap.length > 0) {
        heap[0] = last
        sink(0)
      }
      return first
    },
  }
}

/** The sentences that fit into `maxTokens`, ordered by worth. */
export function selectSentences<C extends Candidate>(candidates: readonly C[], maxTokens: number): readonly C[] {
  const covered = new Set<string>()
  const perGroup = new Map<number, number>()
  const texts = new Set<string>()
  const novelty = (candidate: C): number => {
    if (candidate.terms.size === 0) return 0.5
    let fresh = 0
    for (const term of candidate.terms) if (!covered.has(term)) fresh += 1
    return fresh / candidate.terms.size
  }
  const worthOf = (candidate: C): number => {
    const fresh = novelty(candidate)
    if (fresh < LEAST_NOVELTY || texts.has(candidate.text)) return 0
    return candidate.score * (0.3 + 0.7 * fresh) * GROUP_DECAY ** (perGroup.get(candidate.group) ?? 0)
  }
  const heap = createHeap(
    candidates
      .filter((candidate) => candidate.score >= LEAST_SCORE)
      .map((candidate) => ({ candidate, worth: worthOf(candidate) })),
  )
  const chosen: C[] = []
  let left = maxTokens
  for (let entry = heap.pop(); entry !== undefined && left > 0; entry = heap.pop()) {
    const { candidate } = entry
    const cost = candidate.tokens + (perGroup.has(candidate.group) ? 1 : candidate.overhead)
    if (cost > left) continue
    const worth = worthOf(candidate)
    if (worth <= 0) continue
    if (worth < (heap.top()?.worth ?? 0)) {
      heap.push({ candidate, worth })
      continue
    }
    chosen.push(candidate)
    left -= cost
    texts.add(candidate.text)
    perGroup.set(candidate.group, (perGroup.get(candidate.group) ?? 0) + 1)
    for (const term of candidate.terms) covered.add(term)
  }
  return chosen
}
