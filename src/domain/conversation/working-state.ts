/** Applies operations to the working state. Pure, and total: an operation on an unknown item changes nothing. */
import type { StateItem, StateItemKind, StateOperation, WorkingState } from '../events/index.js'

/** The letters of ids. */
const LETTERS: Readonly<Record<StateItemKind, string>> = {
  rule: 'R',
  statement: 'S',
  open: 'O',
  progress: 'P',
  decision: 'D',
  value: 'V',
  result: 'C',
  error: 'E',
  file: 'F',
  fact: 'I',
}

/** An id that no item has: the letter of the kind and the revision, and a number if several items have these. */
export function freeItemId(kind: StateItemKind, revision: number, taken: ReadonlySet<string>): string {
  const first = `${LETTERS[kind]}${String(revision)}`
  if (!taken.has(first)) return first
  for (let number = 2; ; number += 1) {
    const next = `${first}.${String(number)}`
    if (!taken.has(next)) return next
  }
}

/** Whether an item was closed, taken back or refuted. */
export const isEnded = (item: StateItem): boolean => item.endedAt !== undefined

/** Ended items that are kept, so that an earlier summary can be corrected. */
const MOST_ENDED = 60

/** The items without the oldest ended ones above the limit. */
function withoutOldEnded(items: readonly StateItem[]): StateItem[] {
  const ended = items.filter(isEnded)
  if (ended.length <= MOST_ENDED) return [...items]
  const oldest = new Set(
    ended.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0)).slice(0, ended.length - MOST_ENDED),
  )
  return items.filter((item) => !oldest.has(item))
}

function changed(items: readonly StateItem[], operation: StateOperation): readonly StateItem[] {
  const update = (id: string, change: (item: StateItem) => StateItem): readonly StateItem[] =>
    items.map((item) => (item.id === id ? change(item) : item))
  switch (operation.op) {
    case 'add':
      return items.some(({ id }) => id === operation.item.id) ? items : [...items, operation.item]
    case 'replace': {
      const { op: _op, id, ...words } = operation
      return update(id, ({ reason: _reason, next: _next, files: _files, ...item }) => ({ ...item, ...words }))
    }
    case 'correct': {
      const corrected = items.find(({ id }) => id === operation.id)
      if (corrected === undefined || operation.by === operation.id) return items
      return update(operation.by, (item) => ({ ...item, corrects: corrected.corrects ?? corrected.id }))
    }
    case 'close':
      return update(operation.id, (item) => ({ ...item, endedAt: operation.endedAt }))
    case 'drop':
      return items.filter(({ id }) => id !== operation.id)
  }
}

/** The working state after some operations. */
export function applyOperations(state: WorkingState, operations: readonly StateOperation[]): WorkingState {
  let items: readonly StateItem[] = state.items
  for (const operation of operations) items = changed(items, operation)
  return operations.length === 0 ? state : { items: withoutOldEnded(items) }
}

/** Items that are shown together: a statement, and the later ones that correct it, oldest first. */
export type ItemGroup = readonly StateItem[]

/** The items in force, in groups, in order. A statement whose first form is gone stays alone. */
export function groupsOf({ items }: WorkingState): ItemGroup[] {
  const groups = new Map<string, StateItem[]>()
  for (const item of items) {
    if (isEnded(item)) continue
    const key = item.corrects ?? item.id
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()].map((group) => group.toSorted((a, b) => newestSource(a) - newestSource(b)))
}

/** The revision of the newest message that an item rests on. */
export const newestSource = ({ sourceRevisions }: StateItem): number => Math.max(...sourceRevisions)
